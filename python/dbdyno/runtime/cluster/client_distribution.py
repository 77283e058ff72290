"""Distribution of clients over load machines."""


def distribute_clients(clients: int, machines: int) -> list[int]:
    """Return the number of clients per machine; the first machines get one more if the division has a remainder.

    Raises ValueError if there are fewer clients than machines.
    """
    if not 1 <= machines <= clients:
        raise ValueError(f"{clients} clients can't be distributed over {machines} machines")
    each, more = divmod(clients, machines)
    return [each + (number < more) for number in range(machines)]
