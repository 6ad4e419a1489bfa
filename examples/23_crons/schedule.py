"""Lets the reporter report at nine on working days in Berlin, and shows what became of earlier slots.

Serve it first: `stepwell serve --graphs examples/23_crons/langgraph.json`.
"""

import httpx
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

ADDRESS = "http://127.0.0.1:8123"


def report(client: SyncLangGraphClient, address: str) -> None:
    if not client.crons.search(metadata={"report": "daily"}):
        client.crons.create(
            "reporter",
            schedule="0 9 * * mon-fri",
            timezone="Europe/Berlin",
            input={"messages": [{"role": "user", "content": "What is new?"}]},
            metadata={"report": "daily"},
            on_run_completed="keep",
        )
    for cron in client.crons.search():
        print(f"{cron['schedule']} ({cron['timezone']}), next at {cron['next_run_date']}")
        for slot in httpx.get(f"{address}/runs/crons/{cron['cron_id']}/slots").json():
            print(f"  {slot['slot']}: {slot['state']}")


def main(address: str = ADDRESS) -> None:
    with get_sync_client(url=address, api_key=None) as client:
        report(client, address)


if __name__ == "__main__":
    main()
