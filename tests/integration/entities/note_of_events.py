"""A service that declares `note` as another kind of entity than the shelf's."""

from ankka import Ankka, EventSourcedEntity, json_codec


class NoteOfEvents(EventSourcedEntity[str, str]):
    component_id = "note"
    state_codec = json_codec(str, "note")
    event_codec = json_codec(str, "written")

    def empty_state(self) -> str:
        return ""

    def apply_event(self, state: str, event: str) -> str:
        return event


service = Ankka.service().register(NoteOfEvents)

if __name__ == "__main__":
    service.start()
