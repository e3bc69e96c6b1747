"""The laboratory's commands, as `main` adds them for what a call may need."""

from headway.cli import kafka, plugins
from headway.cli.app import app

plugins.add_to(app)
plugins.add_to(kafka.app, "headway.commands.kafka")
