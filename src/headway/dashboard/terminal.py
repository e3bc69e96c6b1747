"""`headway top`: the queries of a journal as a table in a terminal. Loaded by its command alone: it needs textual."""

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from headway.dashboard.desk import PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.rows import WatchedRow
from headway.dashboard.terminal_rows import COLUMNS, KEYS, cells, chosen, headline
from headway.errors import HeadwayError

LOOK_S = 0.5
HELP = """[b]Keys[/b]

 j k ↑ ↓   next and previous query
 Enter     its story: why its worst window was late
 s         sort by the next column; S the other way round
 u         most urgent first
 /         filter by name, state or reason; Enter or Esc leaves the filter
 space     stand still, and go on
 ?         these keys
 q         leave

[b]Columns[/b]

 slack       time left until the next batch must begin
 next window the end of the window that comes next
 latencies   of the newest windows, from when they were due; red: later than the target
 overdue     windows that came out later than the target
 watermark   how far it is behind the clock
 waiting     rows that wait to be read"""


class TextScreen(ModalScreen[None]):
    """Something to read; any of these keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        (key, "app.pop_screen", "Close") for key in ("escape", "q", "enter", "question_mark")
    ]
    CSS = """
    TextScreen { align: center middle }
    #text { width: auto; max-width: 90%; height: auto; max-height: 90%; padding: 1 3; border: round $accent;
            background: $surface; overflow: auto }
    """

    def __init__(self, text: str, markup: bool = True) -> None:
        super().__init__()
        self._text, self._markup = text, markup

    def compose(self) -> ComposeResult:
        yield Static(self._text, id="text", markup=self._markup)


class TopScreen(App[None]):
    """The table, brought up to date twice a second."""

    TITLE = "headway top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: 1; background: $panel; padding: 0 1; text-style: bold }
    #filter { display: none; height: 3 }
    #filter.on { display: block }
    DataTable { height: 1fr }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move(1)", "Next"), ("k", "move(-1)", "Previous"), ("s", "sort(1)", "Sort"), ("S", "sort(0)", "Reverse"),
        ("u", "urgent", "Urgent"), ("slash", "filter", "Filter"), ("space", "pause", "Pause"),
        ("question_mark", "help", "Help"), ("q", "quit", "Quit"),
    ]  # fmt: skip

    def __init__(self, glance: Glance) -> None:
        super().__init__()
        self.glance, self.desk = glance, PageDesk(glance)
        self.by: str | None = None
        self.down = self.paused = False
        self.shown: list[WatchedRow] = []

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        yield Input(placeholder="name, state or reason", id="filter")
        yield DataTable[object](cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for column in COLUMNS:
            table.add_column(column.head, key=column.key)
        table.focus()
        self.look()
        self.set_interval(LOOK_S, self.look)

    def look(self) -> None:
        """What is new; the cursor stays on its query."""
        if self.paused or not self.query("#head"):  # it is being closed, and its parts are gone already
            return
        try:
            self.glance.look()
        except HeadwayError as error:
            self.notify(str(error), severity="error")
        self.draw()

    def draw(self) -> None:
        glance, table = self.glance, self.query_one(DataTable)
        with glance.lock:
            rows, head = [WatchedRow(**row) for row in glance.rows()], glance.head()
        self.shown = chosen(rows, self.query_one(Input).value, self.by, self.down, head["now"])
        at = table.cursor_row
        names = [row.name for row in self.shown]
        if names != [key.value for key in table.rows]:
            under = list(table.rows)[at].value if 0 <= at < len(table.rows) else None
            table.clear()
            for row in self.shown:
                table.add_row(*cells(row, head["now"], head["target_ms"]), key=row.name)
            table.move_cursor(row=names.index(under) if under in names else max(0, min(at, len(names) - 1)))
        else:
            for row in self.shown:
                for key, cell in zip(KEYS, cells(row, head["now"], head["target_ms"]), strict=True):
                    if table.get_cell(row.name, key) != cell:
                        table.update_cell(row.name, key, cell)
        paused = "   paused" if self.paused else ""
        self.query_one("#head", Static).update(headline(head, rows) + paused)

    def action_move(self, by: int) -> None:
        table = self.query_one(DataTable)
        table.move_cursor(row=max(0, min(len(table.rows) - 1, table.cursor_row + by)))

    def action_sort(self, following: int) -> None:
        if following:
            self.by, self.down = KEYS[0 if self.by is None else (KEYS.index(self.by) + 1) % len(KEYS)], False
            self.notify(f"by {COLUMNS[KEYS.index(self.by)].head}", timeout=2)
        else:
            self.down = not self.down
        self.draw()

    def action_urgent(self) -> None:
        self.by, self.down = None, False
        self.draw()

    def action_filter(self) -> None:
        box = self.query_one(Input)
        box.add_class("on")
        box.focus()

    def action_pause(self) -> None:
        self.paused = not self.paused
        self.draw()

    def action_help(self) -> None:
        self.push_screen(TextScreen(HELP))

    def on_input_changed(self) -> None:
        self.draw()

    def on_input_submitted(self) -> None:
        box = self.query_one(Input)
        box.set_class(bool(box.value), "on")
        self.query_one(DataTable).focus()

    def on_key(self, event: object) -> None:
        if getattr(event, "key", "") == "escape" and self.query_one(Input).has_focus:
            self.on_input_submitted()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """The story of its worst window."""
        name = str(event.row_key.value)
        try:
            told = self.desk.story(name, None)
        except HeadwayError as error:
            self.push_screen(TextScreen(str(error), markup=False))
            return
        lines = [f"{word:>12}  {said}" for word, said in told["lines"]] or ["No window of it has come out yet."]
        self.push_screen(TextScreen("\n".join([name, "", *lines]), markup=False))
