"""Clients divided over load machines."""


def divided(clients: int, machines: int) -> list[int]:
    """Return how many clients each machine gets: as equal as can be, the first ones one more.

    Raises ValueError where there are fewer clients than machines.
    """
    if not 1 <= machines <= clients:
        raise ValueError(f"{clients} clients cannot be divided over {machines} machines")
    each, more = divmod(clients, machines)
    return [each + (number < more) for number in range(machines)]
