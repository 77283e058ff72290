"""Django's administration of users: `django_admin.py prepare|run DATABASE`, a file or `host:port:name`."""

import random
import sys
import threading
import time

import django
from django.conf import settings
from django.core.management import call_command
from django.urls import path

command, database = sys.argv[1:]
if ":" in database:
    host, port, name = database.split(":")
    connection = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": host,
        "PORT": port,
        "NAME": name,
        "USER": "postgres",
    }
else:
    connection = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": database,
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
    }
settings.configure(
    SECRET_KEY="bench",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": connection | {"CONN_MAX_AGE": None}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import Group, User  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]
USERS = 3000
finished: list[int] = []


def prepare() -> None:
    call_command("migrate", verbosity=0)
    groups = [Group.objects.create(name=f"group {number}") for number in range(20)]
    User.objects.create_superuser("admin", "admin@example.com", "secret")
    users = [User(username=f"user{number}", email=f"user{number}@example.com") for number in range(USERS)]
    User.objects.bulk_create(users)
    for user in User.objects.all()[:500]:
        user.groups.add(random.choice(groups))


class ClosingClient(Client):
    """Closes the connection after each request, as Django's server does by default."""

    def request(self, **environment: object) -> object:
        try:
            return super().request(**environment)
        finally:
            connections.close_all()


def administer(seed: int) -> None:
    chooser, client = random.Random(seed), ClosingClient()
    client.post("/admin/login/", {"username": "admin", "password": "secret", "next": "/admin/"})
    end, done = time.monotonic() + 15, 0
    while time.monotonic() < end:
        number = min(int(chooser.expovariate(1 / 300)), USERS - 1) + 2
        client.get(
            "/admin/auth/user/", {"q": f"user{number}"} if chooser.random() < 0.3 else {"p": str(number % 20 + 1)}
        )
        client.get(f"/admin/auth/user/{number}/change/")
        if chooser.random() < 0.3:
            changed = {
                "username": f"user{number - 2}",
                "first_name": f"first {chooser.randrange(100)}",
                "is_active": "on",
                "date_joined_0": "2026-01-01",
                "date_joined_1": "12:00:00",
            }
            client.post(f"/admin/auth/user/{number}/change/", changed)
        time.sleep(0.005)
        done += 1
    finished.append(done)


if command == "prepare":
    prepare()
else:
    threads = [threading.Thread(target=administer, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print("transactions:", sum(finished))
