"""Flask-Admin's views of two tables with SQLAlchemy: `flask_shop.py prepare|run URL`."""

import random
import sys
import threading
import time
from typing import ClassVar

from flask import Flask
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

command, url = sys.argv[1:]
app = Flask("bench")
app.config.update(SECRET_KEY="bench", SQLALCHEMY_DATABASE_URI=url)
db = SQLAlchemy(app)


class Author(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80), nullable=False, index=True)
    books = db.relationship("Book", back_populates="author")

    def __str__(self) -> str:
        return str(self.name)


class Book(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    title = db.Column(db.String(120), nullable=False)
    price = db.Column(db.Numeric(8, 2))
    author_id = db.Column(db.Integer, db.ForeignKey("author.id"), nullable=False)
    author = db.relationship("Author", back_populates="books")


class BookView(ModelView):
    column_searchable_list: ClassVar = ["title"]
    column_list: ClassVar = ["title", "price", "author"]
    form_columns: ClassVar = ["title", "price"]
    page_size = 20


admin = Admin(app)
admin.add_view(ModelView(Author, db))
admin.add_view(BookView(Book, db))
BOOKS = 4000
finished: list[int] = []


def prepare() -> None:
    with app.app_context():
        db.create_all()
        authors = [Author(name=f"author {number}") for number in range(400)]
        db.session.add_all(authors)
        db.session.add_all(
            Book(title=f"book {number}", price=number % 90 + 5, author=random.choice(authors))
            for number in range(BOOKS)
        )
        db.session.commit()


def visit(seed: int) -> None:
    chooser, client = random.Random(seed), app.test_client()
    end, done = time.monotonic() + 15, 0
    while time.monotonic() < end:
        client.get(f"/admin/book/?page={chooser.randrange(50)}")
        number = min(int(chooser.expovariate(1 / 300)) + 1, BOOKS)
        client.get(f"/admin/book/edit/?id={number}")
        if chooser.random() < 0.4:
            changed = {"title": f"book {chooser.randrange(10_000)}", "price": str(chooser.randrange(5, 100))}
            client.post(f"/admin/book/edit/?id={number}", data=changed)
        if chooser.random() < 0.1:
            client.get(f"/admin/book/?search=book+{number}")
        time.sleep(0.005)
        done += 1
    finished.append(done)


if command == "prepare":
    prepare()
else:
    threads = [threading.Thread(target=visit, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print("transactions:", sum(finished))
