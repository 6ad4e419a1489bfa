// Made by scripts/generate-api-types.mjs from the server's OpenAPI document. Do not edit.
export interface paths {
    "/runs/crons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on a new thread by a schedule */
        post: operations["create_cron"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/crons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on this thread by a schedule */
        post: operations["create_thread_cron"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/crons/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Search crons; the header X-Pagination-Next has the offset of the next page */
        post: operations["search_crons"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/crons/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count crons */
        post: operations["count_crons"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/crons/{cron_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a cron */
        get: operations["get_cron"];
        put?: never;
        post?: never;
        /** Delete a cron; runs that it has started go on */
        delete: operations["delete_cron"];
        options?: never;
        head?: never;
        /** Change a cron; runs that it has started stay as they are */
        patch: operations["update_cron"];
        trace?: never;
    };
    "/runs/crons/{cron_id}/slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what became of a cron's slots, newest first: fired, missed or refused */
        get: operations["list_cron_slots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's runs, newest first */
        get: operations["list_runs"];
        put?: never;
        /** Start a run in the background */
        post: operations["create_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run and stream its events */
        post: operations["stream_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run and wait for its final values */
        post: operations["wait_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a run */
        get: operations["get_run"];
        put?: never;
        post?: never;
        /** Delete a run that has ended */
        delete: operations["delete_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Wait for a run's final values */
        get: operations["join_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream a run's events, from the start or after Last-Event-ID, even if it has ended */
        get: operations["join_run_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a run; 'rollback' also deletes what it did */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a thread */
        post: operations["create_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Search threads, most recently used first; the header X-Pagination-Next has the offset of the next page */
        post: operations["search_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count threads */
        post: operations["count_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete threads, or all their checkpoints except the latest */
        post: operations["prune_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a thread */
        get: operations["get_thread"];
        put?: never;
        post?: never;
        /** Delete a thread and everything that belongs to it */
        delete: operations["delete_thread"];
        options?: never;
        head?: never;
        /** Merge into a thread's metadata, and set its time to live; with 'Prefer: return=minimal' the response has no body */
        patch: operations["update_thread"];
        trace?: never;
    };
    "/threads/{thread_id}/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How many bytes the thread's checkpoints take, by kind and by channel */
        get: operations["get_thread_storage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copy a thread with its history */
        post: operations["copy_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the thread's current state */
        get: operations["get_thread_state"];
        put?: never;
        /** Update the thread's state, as if a node had written it */
        post: operations["update_thread_state"];
        delete?: never;
        options?: never;
        head?: never;
        /** Merge into the thread's metadata (older equivalent of PATCH /threads/{thread_id}) */
        patch: operations["patch_thread_state"];
        trace?: never;
    };
    "/threads/{thread_id}/state/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get the thread's state at a checkpoint, which may be a subgraph's */
        post: operations["get_thread_state_at"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/state/{checkpoint_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the thread's state at a checkpoint of the root graph */
        get: operations["get_thread_state_at_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's checkpoints, newest first */
        get: operations["get_thread_history"];
        put?: never;
        /** Search the thread's checkpoints, newest first */
        post: operations["search_thread_history"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream the events of all the thread's runs, live or after Last-Event-ID */
        get: operations["stream_thread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's messages, newest first, now or at a checkpoint */
        get: operations["get_thread_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's turns, newest first, with its branches and where to fork */
        get: operations["get_thread_turns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the models, tools, subagents and nodes that ran on the thread, with times, tokens and cost */
        get: operations["get_thread_steps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The thread's model usage so far, and how full the context is */
        get: operations["get_thread_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/interrupts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's open interrupts, oldest first */
        get: operations["get_thread_interrupts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/interrupts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the open interrupts on all your threads, oldest first */
        get: operations["get_interrupts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/subagents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks that the thread's agent gave to subagents, newest first */
        get: operations["get_thread_subagents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/subagents/{task_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a subagent's messages, newest first */
        get: operations["get_subagent_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/interrupts/{interrupt_id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim an interrupt for a device to carry out (client_tool_execution), or renew the claim */
        post: operations["claim_interrupt"];
        /** Release a claim */
        delete: operations["release_interrupt"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/rewind": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take back a turn and all after it: the conversation and the files */
        post: operations["rewind_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a message to a run that works; it enters before the run's next model call */
        post: operations["steer_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/side-question": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask something about the conversation: one model call without tools, of which the thread keeps nothing */
        post: operations["ask_side_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/waiting-messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the messages that the thread's runs have not taken yet */
        get: operations["list_waiting_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/waiting-messages/{message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Withdraw a message that waits */
        delete: operations["withdraw_message"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/background-tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the thread's background tasks */
        get: operations["list_background_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/background-tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a background task with its answer */
        get: operations["get_background_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/background-tasks/{task_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a background task */
        post: operations["cancel_background_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a command to a thread: start a run, answer an interrupt, read or fork its state */
        post: operations["send_thread_command"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/stream/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The address of the websocket; a plain request is refused */
        get: operations["stream_thread_events_by_websocket"];
        put?: never;
        /** Stream the events of a thread's runs, filtered, from the newest run or after 'since' */
        post: operations["stream_thread_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on a new thread */
        post: operations["create_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on a new thread and stream its events */
        post: operations["stream_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on a new thread and wait for its final values */
        post: operations["wait_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start several runs: all of them or none */
        post: operations["create_run_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel several runs: by id, or all with a given status */
        post: operations["cancel_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create an assistant */
        post: operations["create_assistant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Search assistants; the header X-Pagination-Next has the offset of the next page */
        post: operations["search_assistants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count assistants */
        post: operations["count_assistants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/graphs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the served graphs, and what is missing for those that cannot run here */
        get: operations["list_graphs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an assistant by its id or its graph's name */
        get: operations["get_assistant"];
        put?: never;
        post?: never;
        /** Delete an assistant and its versions */
        delete: operations["delete_assistant"];
        options?: never;
        head?: never;
        /** Update an assistant, which creates a new version */
        patch: operations["update_assistant"];
        trace?: never;
    };
    "/assistants/{assistant_id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** List an assistant's versions, newest first */
        post: operations["list_assistant_versions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/latest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a version the current one */
        post: operations["set_latest_assistant_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/schemas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of the assistant's graph */
        get: operations["get_assistant_schemas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Nodes and edges of the assistant's graph; xray draws subgraphs too */
        get: operations["get_assistant_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/subgraphs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of the graph's subgraphs */
        get: operations["get_assistant_subgraphs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/subgraphs/{namespace}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of one subgraph */
        get: operations["get_assistant_subgraph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an item; null if it does not exist */
        get: operations["get_item"];
        /** Store an item, replacing any earlier one */
        put: operations["put_item"];
        post?: never;
        /** Delete an item */
        delete: operations["delete_item"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/items/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Search items under a namespace */
        post: operations["search_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** List namespaces that contain items */
        post: operations["list_namespaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/model/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the loading of the embedded model; starts nothing */
        get: operations["follow_model"];
        put?: never;
        /** Load the embedded model and follow its progress */
        post: operations["load_model"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/embedder": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The embedder that a browser can run, and where its files are */
        get: operations["get_embedder"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/embedder/files/{sha256}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one of the embedder's files by its hash */
        get: operations["get_embedder_file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pages/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Fetch a public web page and return its text; nothing is stored */
        post: operations["read_page"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/documents/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return the text of a file (PDF, office formats, mail, books), sent as application/octet-stream; nothing is stored
         * @description An image (PNG, JPEG, WebP, GIF) is sent to a connected model that reads images, which writes down its text.
         */
        post: operations["read_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who you are signed in as, and how to sign in */
        get: operations["get_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List API keys without their secrets, for operators */
        get: operations["list_keys"];
        put?: never;
        /** Create an API key; only this response shows it */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a key and the sessions it opened */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Model usage of your runs, and its cost */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Model usage of all users, and its cost, for operators */
        get: operations["get_usage_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export all your data as JSON lines */
        get: operations["export_data"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tool calls on your threads whose outcome is unknown */
        get: operations["list_effects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List those of all users and of deleted threads, for operators */
        get: operations["list_effects_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record whether a call happened; the model learns it when the thread resumes, if the call is still in its conversation */
        post: operations["settle_effect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/all/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record whether any user's call happened, for operators */
        post: operations["settle_effect_of_all"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/a2a/{assistant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Talk to an assistant, named by its id or graph, in A2A 1.0 (JSON-RPC) */
        post: operations["call_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ok": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server is healthy; check_db=1 also checks the database */
        get: operations["get_ok"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether to send requests here: not while the database cannot be written, runs are not executed, or the server is stopping */
        get: operations["get_ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Versions and supported features */
        get: operations["get_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics in Prometheus text format, or as JSON */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Runs, streams, database size, background duties and problems, for operators */
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This API as a page */
        get: operations["get_docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The models that you can use, through which connections, and which one is used */
        get: operations["list_connections"];
        put?: never;
        /** Connect a provider or a model server */
        post: operations["add_connection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Test a model: does it answer, call tools and stream */
        post: operations["test_connection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/choice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Choose the models that are used by default */
        put: operations["choose_models"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/allowed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set which models may be used, for operators */
        put: operations["allow_models"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/spend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was spent through connections, by day */
        get: operations["get_connection_spend"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/{connection_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a connection and its key */
        delete: operations["delete_connection"];
        options?: never;
        head?: never;
        /** Change a connection: its name, key, address, models, limits, or who may use it */
        patch: operations["change_connection"];
        trace?: never;
    };
    "/api/wallet/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check what a token is worth, without redeeming it */
        post: operations["validate_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/fund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit a token for a new session or to top one up; nothing is redeemed before the first call */
        post: operations["fund_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a session's balance */
        get: operations["get_balance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List your sessions, newest first */
        get: operations["list_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a session and prepare its refund; repeating the request returns the same refund */
        post: operations["refund_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim a refund; returns the same token every time, until the mint reports it as spent */
        post: operations["claim_refund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/pricing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What model calls cost, for which graphs, and which mints are accepted */
        get: operations["get_pricing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a session's ledger entries, oldest first */
        get: operations["get_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List payment sessions of all users, most recently used first, for operators */
        get: operations["list_sessions_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/sessions/{funding_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get any user's session with its tokens, refund and ledger entries, without bearer data, for operators */
        get: operations["get_session_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/owed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How much payers are owed, by mint, for operators */
        get: operations["get_owed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List swaps whose outcome at the mint is unknown, for operators */
        get: operations["list_payment_operations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/operations/{operation_id}/reopen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Retry a swap with an unknown outcome and return the result, for operators */
        post: operations["reopen_payment_operation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the ledger adds up and the mints agree, for operators */
        get: operations["audit_wallet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/payout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pay earnings out as a token, or show an earlier payout that is not spent, for operators */
        post: operations["pay_out"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/payouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List earlier payouts not known to be spent, for operators */
        get: operations["list_payouts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Finish swaps in progress now, for operators */
        post: operations["recover_payments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/wallet/all/sweep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Refund idle sessions and detect spent tokens now, for operators */
        post: operations["sweep_payments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Verify a bundle: send the file as application/zip, at most 64 MB; the result comes within 30 s */
        post: operations["verify_bundle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Verify the evidence of a thread's research, as anyone can with its bundle */
        get: operations["verify_research"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a thread's newest report, or an earlier one by its hash, with its claims, quotes and sources */
        get: operations["get_research_report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/sources/{sourceId}/text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the stored text of a source, into which quotes point */
        get: operations["get_source_text"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the research as Markdown, HTML, PDF or DOCX, its sources as BibTeX or CSL-JSON, or its bundle */
        get: operations["export_research"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Research a question and stream its events */
        post: operations["research"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a research's open interrupt and stream its events */
        post: operations["approve_research"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream the events of a thread's newest question, from the start or after Last-Event-ID, even if it has ended */
        get: operations["join_research"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All the evidence of a thread's research, as one file for `stepwell verify` */
        get: operations["research_bundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tutor/{threadId}/argument": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the argument of a tutor's thread as Markdown, JSON, Argdown or Mermaid */
        get: operations["export_argument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask the workspace's agent and stream its events */
        post: operations["ask_agent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspace/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the files below a folder of the workspace, page by page */
        get: operations["list_workspace_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspace/files/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download a file, or a range of its bytes */
        get: operations["get_workspace_file"];
        /** Store a file */
        put: operations["put_workspace_file"];
        post?: never;
        /** Delete a file */
        delete: operations["delete_workspace_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspace/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin to upload a file in parts */
        post: operations["begin_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspace/uploads/{upload_id}/{part}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Upload a part; sending the same number again replaces it */
        put: operations["put_upload_part"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspace/uploads/{upload_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Join the parts and store the file */
        post: operations["complete_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AgentQuestion
         * @description A user's messages to the agent, or, with `command`, the answer to an interrupt on `thread_id`.
         */
        AgentQuestion: {
            /** Messages */
            messages?: unknown[];
            config?: components["schemas"]["RunConfig"] | null;
            /** Thread Id */
            thread_id?: string | null;
            command?: components["schemas"]["RunCommand"] | null;
            /** Assistant Id */
            assistant_id?: string | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
        };
        /** ApprovalResponse */
        ApprovalResponse: {
            /** At */
            at: string;
            /** Data */
            data: {
                [key: string]: unknown;
            };
        };
        /** AssistantCount */
        AssistantCount: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Graph Id */
            graph_id?: string | null;
            /** Name */
            name?: string | null;
        };
        /** AssistantCreate */
        AssistantCreate: {
            /** Graph Id */
            graph_id: string;
            /** Assistant Id */
            assistant_id?: string | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** If Exists */
            if_exists?: ("raise" | "do_nothing") | null;
            /** Name */
            name?: string | null;
            /** Description */
            description?: string | null;
        };
        /** AssistantPatch */
        AssistantPatch: {
            /** Graph Id */
            graph_id?: string | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Name */
            name?: string | null;
            /** Description */
            description?: string | null;
        };
        /**
         * AssistantResponse
         * @description A graph with a configuration.
         */
        AssistantResponse: {
            /** Assistant Id */
            assistant_id?: string;
            /** Graph Id */
            graph_id?: string;
            /** Name */
            name?: string;
            /** Description */
            description?: string | null;
            /** Config */
            config?: {
                [key: string]: unknown;
            };
            /** Context */
            context?: {
                [key: string]: unknown;
            };
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Version */
            version?: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
        };
        /** AssistantSearch */
        AssistantSearch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Graph Id */
            graph_id?: string | null;
            /** Name */
            name?: string | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Sort By */
            sort_by?: ("assistant_id" | "graph_id" | "name" | "created_at" | "updated_at") | null;
            /** Sort Order */
            sort_order?: ("asc" | "desc") | null;
            /** Select */
            select?: ("assistant_id" | "graph_id" | "name" | "description" | "config" | "context" | "created_at" | "updated_at" | "metadata" | "version")[] | null;
        };
        /**
         * AuditResponse
         * @description Whether all the money is accounted for.
         */
        AuditResponse: {
            /** Adds Up */
            adds_up: boolean;
            /** Spent Elsewhere Sats */
            spent_elsewhere_sats: number;
            totals: components["schemas"]["AuditTotals"];
            /** Mints */
            mints: components["schemas"]["MintAuditResponse"][];
        };
        /**
         * AuditTotals
         * @description Totals over all sessions, in sats.
         */
        AuditTotals: {
            /** Credits */
            credits: number;
            /** Charges */
            charges: number;
            /** Refunds */
            refunds: number;
            /** Fees */
            fees: number;
            /** Balances */
            balances: number;
            /** Session Proofs */
            session_proofs: number;
            /** Earned Proofs */
            earned_proofs: number;
            /** Paid Out */
            paid_out: number;
        };
        /**
         * BalanceResponse
         * @description A session's balance. `funded` has been redeemed; `waiting` are tokens that have not been redeemed yet.
         */
        BalanceResponse: {
            /** Funding Id */
            funding_id: string;
            /** Funded */
            funded: number;
            /** Waiting */
            waiting: number;
            /** Reserved */
            reserved: number;
            /** Spent */
            spent: number;
            /** Fees */
            fees: number;
            /** Refunded */
            refunded: number;
            /** Balance */
            balance: number;
            /** Ceiling */
            ceiling: number | null;
            /** Lost Answers */
            lost_answers: number;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error";
            /** Mint */
            mint: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Touched At
             * Format: date-time
             */
            touched_at: string;
            /** Refund Id */
            refund_id?: string | null;
            /** Price */
            price: {
                [key: string]: unknown;
            };
        };
        /**
         * BatchRun
         * @description One of several runs; without `thread_id` it is stateless.
         */
        BatchRun: {
            /** Assistant Id */
            assistant_id: string;
            /** Input */
            input?: unknown;
            command?: components["schemas"]["RunCommand"] | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Webhook */
            webhook?: string | null;
            /**
             * Feedback Keys
             * @description Accepted and not used: addresses for feedback would come from LangSmith.
             */
            feedback_keys?: string[] | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "enqueue" | "interrupt" | "rollback" | "steer") | null;
            /** If Not Exists */
            if_not_exists?: ("create" | "reject") | null;
            /** On Disconnect */
            on_disconnect?: ("cancel" | "continue") | null;
            /** On Completion */
            on_completion?: ("delete" | "keep") | null;
            /** After Seconds */
            after_seconds?: number | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Strict Resume */
            strict_resume?: boolean | null;
            /** Thread Id */
            thread_id?: string | null;
        };
        /**
         * Before
         * @description A checkpoint, or a LangGraph config that names one, as older clients send it.
         */
        Before: {
            /** Thread Id */
            thread_id?: string | null;
            /** Checkpoint Ns */
            checkpoint_ns?: string | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Checkpoint Map */
            checkpoint_map?: {
                [key: string]: unknown;
            } | null;
            configurable?: components["schemas"]["CheckpointRef"] | null;
        };
        /**
         * CancelMany
         * @description Which runs to cancel: by id, or all with a given status.
         */
        CancelMany: {
            /** Thread Id */
            thread_id?: string | null;
            /** Run Ids */
            run_ids?: string[] | null;
            /** Status */
            status?: ("pending" | "running" | "all") | null;
        };
        /** CheckedPartResponse */
        CheckedPartResponse: {
            /**
             * Part
             * @enum {string}
             */
            part: "file" | "bytes" | "trail" | "manifest" | "signature" | "head" | "members" | "quotes" | "claims" | "checks" | "report" | "story" | "plans" | "requests" | "origins" | "strict";
            /**
             * Title
             * @description What was checked, as a sentence that is true if `ok`
             */
            title: string;
            /** Ok */
            ok: boolean;
            /**
             * Checked
             * @description How many items were checked
             */
            checked: number;
            /** Problems */
            problems: components["schemas"]["DefectResponse"][];
        };
        /**
         * CheckpointRef
         * @description A checkpoint of a thread. Without `checkpoint_id`, the newest one of the namespace.
         */
        CheckpointRef: {
            /** Thread Id */
            thread_id?: string | null;
            /** Checkpoint Ns */
            checkpoint_ns?: string | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Checkpoint Map */
            checkpoint_map?: {
                [key: string]: unknown;
            } | null;
        };
        /** Choice */
        Choice: {
            default: components["schemas"]["ChosenModel"] | null;
            plan: components["schemas"]["ChosenModel"] | null;
            write: components["schemas"]["ChosenModel"] | null;
            judge: components["schemas"]["ChosenModel"] | null;
        };
        /** ChosenModel */
        ChosenModel: {
            /** Connection */
            connection: string;
            /** Model */
            model: string;
            /** Label */
            label: string;
            /** Reason */
            reason: string;
        };
        /** ClaimResponse */
        ClaimResponse: {
            /** Claim Id */
            claim_id: string;
            /** Text */
            text: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "verbatim" | "supported" | "partial" | "unsupported" | "contradicted";
            /** Reasons */
            reasons: string[];
            /**
             * Evidence
             * @description Ids of quotes
             */
            evidence: string[];
            /** In Report */
            in_report: boolean;
        };
        /**
         * ClaimedRefund
         * @description The refund itself. Repeating the request returns the same token, until the mint reports it as spent.
         */
        ClaimedRefund: {
            /** Token */
            token: string;
            /** Amount Sats */
            amount_sats: number;
        };
        /**
         * CommandResponse
         * @description The outcome of a command: `success` with a result, or `error` with a code and a message.
         */
        CommandResponse: {
            /**
             * Type
             * @enum {string}
             */
            type?: "success" | "error";
            /** Id */
            id?: number;
            /** Result */
            result?: {
                [key: string]: unknown;
            };
            /** Error */
            error?: string;
            /** Message */
            message?: string;
            /** Meta */
            meta?: {
                [key: string]: unknown;
            };
        };
        /** ConnectionChange */
        ConnectionChange: {
            /** Label */
            label?: string | null;
            /**
             * Key
             * @description The provider's key. It is stored encrypted and never sent back
             */
            key?: string | null;
            /** Base Url */
            base_url?: string | null;
            /**
             * Models
             * @description The models to offer
             */
            models?: string[] | null;
            /**
             * Shared
             * @description Whether everyone may use it; operators only
             */
            shared?: boolean | null;
            limits?: components["schemas"]["Limits"] | null;
        };
        /** ConnectionResponse */
        ConnectionResponse: {
            /** Id */
            id: string;
            /** Provider */
            provider: string;
            /** Label */
            label: string;
            /** Base Url */
            base_url: string | null;
            /** Has Key */
            has_key: boolean;
            /**
             * Key Hint
             * @description The end of the key, such as …wXyZ
             */
            key_hint: string | null;
            /**
             * Source
             * @enum {string}
             */
            source: "environment" | "stored" | "found" | "embedded";
            /**
             * Variable
             * @description The environment variable that it comes from
             */
            variable: string | null;
            /**
             * Shared
             * @description Whether everyone may use it
             */
            shared: boolean;
            /** Mine */
            mine: boolean;
            /** Editable */
            editable: boolean;
            /**
             * Problem
             * @description Why it cannot be used now
             */
            problem: string | null;
            /**
             * Warning
             * @description Why its limits forbid some of its models
             */
            warning: string | null;
            /** Models */
            models: components["schemas"]["OfferedModel"][];
            limits: components["schemas"]["LimitsResponse"];
            spent: components["schemas"]["Spent"];
        };
        /**
         * ConnectionTest
         * @description Either a connection, or a provider with what the user has entered.
         */
        ConnectionTest: {
            /** Connection */
            connection?: string | null;
            /** Provider */
            provider?: string | null;
            /** Key */
            key?: string | null;
            /** Base Url */
            base_url?: string | null;
            /** Model */
            model?: string | null;
        };
        /** ConnectionsResponse */
        ConnectionsResponse: {
            /** Connections */
            connections: components["schemas"]["ConnectionResponse"][];
            /** Providers */
            providers: components["schemas"]["ProviderResponse"][];
            /**
             * Found
             * @description Model servers on the server's computer; for operators
             */
            found: components["schemas"]["FoundServer"][];
            choice: components["schemas"]["Choice"];
            /** Can Store */
            can_store: boolean;
            /**
             * Why Not
             * @description Why keys cannot be stored
             */
            why_not: string | null;
            /** May Share */
            may_share: boolean;
            /** May Use Private Addresses */
            may_use_private_addresses: boolean;
            /** Allowed */
            allowed: string[] | null;
        };
        /** ContextResponse */
        ContextResponse: {
            /** Tokens */
            tokens: number;
            /**
             * Window
             * @description The model's context limit in tokens; null: unknown
             */
            window: number | null;
            /** Model */
            model: string;
        };
        /**
         * CorrectedResponse
         * @description A sentence as it was before it went back to the writer.
         */
        CorrectedResponse: {
            /** Claim Id */
            claim_id: string;
            /** Text */
            text: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "verbatim" | "supported" | "partial" | "unsupported" | "contradicted";
            /** Reasons */
            reasons: string[];
            /**
             * Evidence
             * @description Ids of quotes
             */
            evidence: string[];
        };
        /** CronCount */
        CronCount: {
            /** Assistant Id */
            assistant_id?: string | null;
            /** Thread Id */
            thread_id?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * CronCreate
         * @description A request for runs by a schedule, each on a new thread.
         */
        CronCreate: {
            /** Input */
            input?: unknown;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Webhook */
            webhook?: string | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Assistant Id */
            assistant_id: string;
            /**
             * Schedule
             * @description Minute, hour, day of month, month and day of week, such as `0 9 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`
             */
            schedule: string;
            /** Timezone */
            timezone?: string | null;
            /**
             * End Time
             * @description No run starts after this time; without an offset, in UTC
             */
            end_time?: string | null;
            /** Enabled */
            enabled?: boolean | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "rollback" | "interrupt" | "enqueue") | null;
            /**
             * On Run Completed
             * @description What happens to a run's thread when the run has ended; by default, it is deleted
             */
            on_run_completed?: ("delete" | "keep") | null;
        };
        /**
         * CronPatch
         * @description What to change about a cron. `null` means the same as leaving a field out, except for `end_time`: there it removes the end.
         */
        CronPatch: {
            /** Input */
            input?: unknown;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Webhook */
            webhook?: string | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Schedule */
            schedule?: string | null;
            /** Timezone */
            timezone?: string | null;
            /** End Time */
            end_time?: string | null;
            /** Enabled */
            enabled?: boolean | null;
            /**
             * Metadata
             * @description Merged into the cron's metadata
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "rollback" | "interrupt" | "enqueue") | null;
            /** On Run Completed */
            on_run_completed?: ("delete" | "keep") | null;
        };
        /**
         * CronResponse
         * @description Runs on a schedule. `next_run_date` is null if there is no next run; `ended_because` says why a cron was ended for its owner.
         */
        CronResponse: {
            /** Cron Id */
            cron_id?: string;
            /** Assistant Id */
            assistant_id?: string;
            /** Thread Id */
            thread_id?: string | null;
            /** On Run Completed */
            on_run_completed?: ("delete" | "keep") | null;
            /** End Time */
            end_time?: string | null;
            /** Schedule */
            schedule?: string;
            /** Timezone */
            timezone?: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
            /** User Id */
            user_id?: string | null;
            /** Payload */
            payload?: {
                [key: string]: unknown;
            };
            /** Next Run Date */
            next_run_date?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Enabled */
            enabled?: boolean;
            /** Ended Because */
            ended_because?: string | null;
        };
        /** CronSearch */
        CronSearch: {
            /** Assistant Id */
            assistant_id?: string | null;
            /** Thread Id */
            thread_id?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Enabled */
            enabled?: boolean | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Sort By */
            sort_by?: ("cron_id" | "assistant_id" | "thread_id" | "next_run_date" | "end_time" | "created_at" | "updated_at") | null;
            /** Sort Order */
            sort_order?: ("asc" | "desc") | null;
            /** Select */
            select?: ("cron_id" | "assistant_id" | "thread_id" | "on_run_completed" | "end_time" | "schedule" | "timezone" | "created_at" | "updated_at" | "user_id" | "payload" | "next_run_date" | "metadata" | "enabled" | "ended_because")[] | null;
        };
        /**
         * CronSlotResponse
         * @description What became of a slot of a cron, or of all its slots from `slot` to `last_slot`.
         */
        CronSlotResponse: {
            /**
             * Slot
             * Format: date-time
             */
            slot?: string;
            /** Last Slot */
            last_slot?: string | null;
            /**
             * State
             * @enum {string}
             */
            state?: "fired" | "missed" | "refused";
            /** Run Id */
            run_id?: string | null;
            /** Thread Id */
            thread_id?: string | null;
            /** Note */
            note?: string | null;
            /**
             * Noted At
             * Format: date-time
             */
            noted_at?: string;
        };
        /** DatabaseFigures */
        DatabaseFigures: {
            /** Bytes */
            bytes: number;
        };
        /**
         * DebtResponse
         * @description What payers could claim at one mint: counts and sats of sessions, tokens and refunds.
         */
        DebtResponse: {
            /** Mint */
            mint: string;
            /** Sessions */
            sessions: number;
            /** Balances Sats */
            balances_sats: number;
            /** Tokens */
            tokens: number;
            /** Tokens Sats */
            tokens_sats: number;
            /** Refunds */
            refunds: number;
            /** Refunds Sats */
            refunds_sats: number;
            /** Total Sats */
            total_sats: number;
        };
        /** DefectResponse */
        DefectResponse: {
            /** Where */
            where: string;
            /** Fact */
            fact: string;
        };
        /**
         * DevicePassage
         * @description Where the words of a quote are on the device that sent them, in offsets as that device counts them.
         */
        DevicePassage: {
            /** Snippet Id */
            snippet_id: string;
            /** Document Id */
            document_id: string;
            /** Start */
            start: number;
            /** End */
            end: number;
        };
        /** DocumentPart */
        DocumentPart: {
            /**
             * Start
             * @description Its offset in the text, in Unicode characters (code points); it reaches to the next part's start
             */
            start: number;
            /**
             * Name
             * @description For example `page 3`, `slide 2`, `sheet Sales`, `message 4 (Ann Lee, 3 May 2025)`
             */
            name: string;
            /**
             * Cells
             * @description The cells of a sheet, such as `A5:F5`; else empty
             */
            cells: string;
        };
        /** DocumentText */
        DocumentText: {
            /** Title */
            title: string;
            /**
             * Text
             * @description Headings are lines that begin with `# ` to `###### `; a row of a table is one paragraph
             */
            text: string;
            /** Media Type */
            media_type: string;
            /**
             * Note
             * @description A sentence that says what was left out; empty if nothing was
             */
            note: string;
            /**
             * Parts
             * @description Pages, slides, rows or messages in their order; empty for a text without parts
             */
            parts: components["schemas"]["DocumentPart"][];
        };
        /**
         * DutyResponse
         * @description A background task that runs as long as the server does.
         */
        DutyResponse: {
            /** Name */
            name: string;
            /** Vital */
            vital: boolean;
            /** Ok */
            ok: boolean;
            /**
             * Failures
             * @description Since the server started
             */
            failures: number;
        };
        /**
         * EffectResponse
         * @description One effect. `thread_id`, `run_id` and `owner` are null if its thread was deleted.
         */
        EffectResponse: {
            /** Key */
            key: string;
            /** Tool */
            tool: string;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "unknown" | "under_way" | "done" | "not_done";
            /** Begun At */
            begun_at: string;
            /** Thread Id */
            thread_id: string | null;
            /** Run Id */
            run_id: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Taken Back
             * @description Its run was rolled back with all its output, so no thread shows the effect
             */
            taken_back: boolean;
            /** Note */
            note: string | null;
            /** Settled At */
            settled_at: string | null;
            /** Settled By */
            settled_by: string | null;
        };
        /**
         * EffectSettle
         * @description What a user or operator found out about an effect whose outcome is unknown.
         */
        EffectSettle: {
            /** Key */
            key: string;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "done" | "not_done";
            /**
             * Note
             * @description Passed on to the model, such as a receipt number or a result
             * @default
             */
            note: string;
        };
        /** EgressResponse */
        EgressResponse: {
            /** Requests */
            requests: components["schemas"]["SentRequest"][];
            /** Refused */
            refused: components["schemas"]["RefusedRequest"][];
            totals: components["schemas"]["EgressTotals"];
        };
        /** EgressTotals */
        EgressTotals: {
            /** Requests */
            requests: number;
            /** Resends */
            resends: number;
            /** Bytes */
            bytes: number;
            /**
             * Hosts
             * @description Number of requests by host
             */
            hosts: {
                [key: string]: number;
            };
            /** Refused */
            refused: number;
        };
        /** EmbedderFile */
        EmbedderFile: {
            /**
             * Path
             * @description Where to download it; the content of a path never changes
             */
            path: string;
            /** Sha256 */
            sha256: string;
            /** Size Bytes */
            size_bytes: number;
        };
        /** EmbedderFiles */
        EmbedderFiles: {
            /**
             * Id
             * @description Vectors are comparable only if they have the same id
             */
            id: string;
            /** Dimensions */
            dimensions: number;
            /** Max Tokens */
            max_tokens: number;
            weights: components["schemas"]["EmbedderFile"];
            tokenizer: components["schemas"]["EmbedderFile"];
        };
        /** EmbedderResponse */
        EmbedderResponse: {
            /** @description Null: its files are not on this server; compare texts by words instead */
            embedder: components["schemas"]["EmbedderFiles"] | null;
            /** Sentence */
            sentence: string;
        };
        /**
         * EntryResponse
         * @description An entry of the ledger. A `void` reverses a charge whose answer was lost.
         */
        EntryResponse: {
            /** Seq */
            seq: number;
            /** Funding Id */
            funding_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "credit" | "charge" | "void" | "refund" | "fee";
            /** Amount Sats */
            amount_sats: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
        };
        /**
         * EventsQuery
         * @description Which events to send, and after which position.
         */
        EventsQuery: {
            /** Channels */
            channels: string[];
            /** Namespaces */
            namespaces?: string[][] | null;
            /** Depth */
            depth?: number | null;
            /** Since */
            since?: number | null;
        };
        /** FoundServer */
        FoundServer: {
            /** Provider */
            provider: string;
            /** Title */
            title: string;
            /** Base Url */
            base_url: string;
            /** Models */
            models: components["schemas"]["OfferedModel"][];
        };
        /**
         * FundResponse
         * @description The session that now has the token. Nothing is redeemed before the first call.
         */
        FundResponse: {
            /** Funding Id */
            funding_id: string;
            /** Net Sats */
            net_sats: number;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error";
        };
        /**
         * FundedToken
         * @description A token that was submitted for a session, by its hash.
         */
        FundedToken: {
            /** Fingerprint */
            fingerprint: string;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "redeemed" | "rejected" | "returned";
            /** Amount Sats */
            amount_sats: number;
            /** Fee Sats */
            fee_sats: number;
            /** Reason */
            reason: string | null;
        };
        /**
         * GraphReadiness
         * @description Whether a graph can be run here.
         */
        GraphReadiness: {
            /** Graph Id */
            graph_id: string;
            /** Ready */
            ready: boolean;
            /**
             * Problem
             * @description A sentence that says what is missing and how to get it; null if ready
             */
            problem: string | null;
            /**
             * Run Modes
             * @description What a run's `config.configurable.permission_mode` may be; empty if the graph has no modes, or if only a run can tell
             */
            run_modes: string[];
            /**
             * Can Rewind
             * @description Whether turns on its threads can be taken back with POST /threads/{thread_id}/rewind
             */
            can_rewind: boolean;
        };
        /**
         * GraphSchemas
         * @description JSON Schemas of a graph; `null` if one cannot be generated.
         */
        GraphSchemas: {
            /** Graph Id */
            graph_id: string;
            /** Input Schema */
            input_schema: {
                [key: string]: unknown;
            } | null;
            /** Output Schema */
            output_schema: {
                [key: string]: unknown;
            } | null;
            /** State Schema */
            state_schema: {
                [key: string]: unknown;
            } | null;
            /** Config Schema */
            config_schema: {
                [key: string]: unknown;
            } | null;
            /** Context Schema */
            context_schema: {
                [key: string]: unknown;
            } | null;
        };
        /** HealthResponse */
        HealthResponse: {
            /** Ok */
            ok: boolean;
            /** Version */
            version: string;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            runs: components["schemas"]["RunFigures"];
            /**
             * Streams
             * @description Open event streams
             */
            streams: number;
            database: components["schemas"]["DatabaseFigures"];
            /** Duties */
            duties: components["schemas"]["DutyResponse"][];
            /** Problems */
            problems: string[];
        };
        /** HistoryQuery */
        HistoryQuery: {
            /** Limit */
            limit?: number | null;
            /** Before */
            before?: string | components["schemas"]["Before"] | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Select */
            select?: string[] | null;
        };
        /**
         * Info
         * @description Versions and flags.
         */
        Info: {
            /** Version */
            version: string;
            /** Langgraph Py Version */
            langgraph_py_version: string;
            /** Flags */
            flags: {
                [key: string]: boolean;
            };
            /** Metadata */
            metadata: {
                [key: string]: string;
            };
        };
        /** InterruptClaimCreate */
        InterruptClaimCreate: {
            /**
             * Device Id
             * @description A name you choose for the device or tab; other devices see it
             */
            device_id: string;
            /**
             * Ttl S
             * @description How many seconds the claim lasts unless it is renewed
             * @default 60
             */
            ttl_s: number;
            /**
             * Claim Id
             * @description To renew a claim that you hold: its id
             */
            claim_id?: string | null;
        };
        /** InterruptClaimHolder */
        InterruptClaimHolder: {
            /** Device Id */
            device_id: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
        };
        /** InterruptClaimRelease */
        InterruptClaimRelease: {
            /** Claim Id */
            claim_id: string;
        };
        /** InterruptClaimResponse */
        InterruptClaimResponse: {
            /**
             * Claim Id
             * @description Send it with the answer, and to renew or release the claim
             */
            claim_id: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
        };
        /** ItemDelete */
        ItemDelete: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
        };
        /** ItemPut */
        ItemPut: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
            /** Value */
            value: {
                [key: string]: unknown;
            };
            /** Index */
            index?: false | string[] | null;
            /** Ttl */
            ttl?: number | null;
        };
        /**
         * ItemResponse
         * @description A value stored under a namespace and a key.
         */
        ItemResponse: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
            /** Value */
            value: {
                [key: string]: unknown;
            };
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at: string;
            /** Score */
            score?: number | null;
        };
        /** ItemSearch */
        ItemSearch: {
            /** Namespace Prefix */
            namespace_prefix: string[];
            /** Filter */
            filter?: {
                [key: string]: unknown;
            } | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Query */
            query?: string | null;
            /** Refresh Ttl */
            refresh_ttl?: boolean | null;
        };
        /**
         * ItemsResponse
         * @description The items that a search found.
         */
        ItemsResponse: {
            /** Items */
            items: components["schemas"]["ItemResponse"][];
        };
        /**
         * JudgeFigures
         * @description How well a judge judges, measured with `stepwell models judge`. Shares are in thousandths, for a writer who is right 60 % of the
         *     time.
         */
        JudgeFigures: {
            /** Day */
            day: string;
            /**
             * Checks
             * @description The version of the rules
             */
            checks: number;
            /** Prompt Sha256 */
            prompt_sha256: string;
            /** Sets */
            sets: string[];
            /** Claims */
            claims: number;
            /**
             * Precision
             * @description How many of the sentences that rules and judge call supported are true
             */
            precision: number;
            /** Precision Low */
            precision_low: number;
            /** Precision High */
            precision_high: number;
            /**
             * Recall
             * @description How many of the true sentences they call supported
             */
            recall: number;
            /** Rules Precision */
            rules_precision: number;
            /** Rules Recall */
            rules_recall: number;
            /** Unusable */
            unusable: number;
        };
        /** JudgeResponse */
        JudgeResponse: {
            /** Model */
            model: string;
            measured: components["schemas"]["JudgeFigures"] | null;
            /**
             * About
             * @description The same as one to three sentences for a reader
             */
            about: string;
        };
        /** KeyCreate */
        KeyCreate: {
            /** User */
            user: string;
            /** Name */
            name?: string | null;
            /** Operator */
            operator?: boolean | null;
            /** Expires Days */
            expires_days?: number | null;
            /** Roots */
            roots?: string[] | null;
            /** Read Roots */
            read_roots?: string[] | null;
        };
        /**
         * KeyResponse
         * @description An API key without its secret.
         */
        KeyResponse: {
            /** Key Id */
            key_id: string;
            /** User */
            user: string;
            /** Name */
            name: string;
            /** Is Operator */
            is_operator: boolean;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /**
             * Roots
             * @description The workspaces that the key gives access to
             */
            roots: string[];
            /**
             * Read Roots
             * @description The workspaces that the key may only read
             */
            read_roots: string[];
        };
        /**
         * Limits
         * @description What may be spent through a connection, in US dollars; null removes a limit.
         */
        Limits: {
            /** Per User Day Usd */
            per_user_day_usd?: number | null;
            /** Per User Month Usd */
            per_user_month_usd?: number | null;
            /** Month Usd */
            month_usd?: number | null;
        };
        /** LimitsResponse */
        LimitsResponse: {
            /** Per User Day Usd */
            per_user_day_usd?: number | null;
            /** Per User Month Usd */
            per_user_month_usd?: number | null;
            /** Month Usd */
            month_usd?: number | null;
        };
        /**
         * Me
         * @description Who the caller is. `user` and `via` are null if the caller is not signed in.
         */
        Me: {
            /** Signed In */
            signed_in: boolean;
            /**
             * Asks Who
             * @description Whether the server requires sign-in
             */
            asks_who: boolean;
            /** User */
            user: string | null;
            /** Is Operator */
            is_operator: boolean;
            /** Via */
            via: ("local" | "api_key" | "jwt" | "session" | "handler") | null;
            /**
             * Roots
             * @description The workspaces that the caller may use; empty if the server requires no sign-in, as all are open then
             */
            roots: string[];
            /**
             * Read Roots
             * @description The workspaces that the caller may only read
             */
            read_roots: string[];
            /**
             * Sign In
             * @description How a browser can sign in; empty if the server requires no sign-in
             */
            sign_in: ("key" | "provider")[];
            server: components["schemas"]["ServerAbout"];
        };
        /** MessagesResponse */
        MessagesResponse: {
            /**
             * Messages
             * @description LangChain's messages, newest first
             */
            messages: {
                [key: string]: unknown;
            }[];
            /** Total */
            total: number;
            /**
             * Next
             * @description Send it as `before` to get older messages; null: there are none
             */
            next: string | null;
            /**
             * Checkpoint Id
             * @description The checkpoint that was read; send it with the next request, so that pages fit together
             */
            checkpoint_id: string | null;
        };
        /**
         * MintAuditResponse
         * @description The money at one mint. `spent_elsewhere_sats` is null if the mint could not be reached; `trouble` says why.
         */
        MintAuditResponse: {
            /** Mint */
            mint: string;
            /** For Payers Sats */
            for_payers_sats: number;
            /** Earned Sats */
            earned_sats: number;
            /** Spent Elsewhere Sats */
            spent_elsewhere_sats: number | null;
            /** Trouble */
            trouble: string | null;
        };
        /**
         * ModelRef
         * @description A model through a connection.
         */
        ModelRef: {
            /** Connection */
            connection: string;
            /** Model */
            model: string;
        };
        /** NamespaceQuery */
        NamespaceQuery: {
            /** Prefix */
            prefix?: string[] | null;
            /** Suffix */
            suffix?: string[] | null;
            /** Max Depth */
            max_depth?: number | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
        };
        /**
         * NamespacesResponse
         * @description Namespaces that contain items.
         */
        NamespacesResponse: {
            /** Namespaces */
            namespaces: string[][];
        };
        /** NewAllowed */
        NewAllowed: {
            /**
             * Allowed
             * @description `provider:name` or `provider:*`; null allows every model
             */
            allowed: string[] | null;
        };
        /**
         * NewChoice
         * @description Defaults. A task that is left out stays as it is; null removes the choice.
         */
        NewChoice: {
            /**
             * Scope
             * @enum {string}
             */
            scope: "mine" | "everyone";
            default?: components["schemas"]["ModelRef"] | null;
            plan?: components["schemas"]["ModelRef"] | null;
            write?: components["schemas"]["ModelRef"] | null;
            judge?: components["schemas"]["ModelRef"] | null;
        };
        /** NewConnection */
        NewConnection: {
            /** Label */
            label?: string | null;
            /**
             * Key
             * @description The provider's key. It is stored encrypted and never sent back
             */
            key?: string | null;
            /** Base Url */
            base_url?: string | null;
            /**
             * Models
             * @description The models to offer
             */
            models?: string[] | null;
            /**
             * Shared
             * @description Whether everyone may use it; operators only
             */
            shared?: boolean | null;
            /** Provider */
            provider: string;
        };
        /** NewKeyResponse */
        NewKeyResponse: {
            /** Key Id */
            key_id: string;
            /** User */
            user: string;
            /** Name */
            name: string;
            /** Is Operator */
            is_operator: boolean;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /**
             * Roots
             * @description The workspaces that the key gives access to
             */
            roots: string[];
            /**
             * Read Roots
             * @description The workspaces that the key may only read
             */
            read_roots: string[];
            /**
             * Key
             * @description The complete key. Only this response shows it; the server does not store it
             */
            key: string;
        };
        /** NotUndoneResponse */
        NotUndoneResponse: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "command" | "effect" | "device" | "file" | "money";
            /** What */
            what: string;
            /** Times */
            times: number;
        };
        /** OfferedModel */
        OfferedModel: {
            /** Name */
            name: string;
            /** Title */
            title?: string | null;
            /**
             * Tools
             * @description Whether it calls tools; null if unknown
             */
            tools?: boolean | null;
            /**
             * Sees
             * @description Whether it takes images; null if unknown
             */
            sees?: boolean | null;
            /**
             * Writes
             * @description Whether its text is good enough to show as an answer
             * @default true
             */
            writes: boolean;
            /** Context */
            context?: number | null;
            /** Size Bytes */
            size_bytes?: number | null;
            /** Downloaded */
            downloaded?: boolean | null;
            /** Status */
            status?: ("idle" | "downloading" | "loading" | "ready" | "error") | null;
            /**
             * Progress
             * @description Per cent, while it is being downloaded
             */
            progress?: number | null;
        };
        /** Ok */
        Ok: {
            /** Ok */
            ok: boolean;
        };
        /**
         * OperationResponse
         * @description A swap at a mint.
         */
        OperationResponse: {
            /** Operation Id */
            operation_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "redeem" | "settle";
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "done" | "failed" | "unknown";
            /** Reason */
            reason: string | null;
            /** Funding Id */
            funding_id: string;
            /** Owner */
            owner: string;
            /** Mint */
            mint: string;
            /** Amount Sats */
            amount_sats: number;
            /** Fee Sats */
            fee_sats: number;
            /**
             * Begun At
             * Format: date-time
             */
            begun_at: string;
        };
        /**
         * OwedResponse
         * @description What payers are owed, and the refunds not claimed yet.
         */
        OwedResponse: {
            /** Total Sats */
            total_sats: number;
            /** Mints */
            mints: components["schemas"]["DebtResponse"][];
            /** Refunds */
            refunds: components["schemas"]["RefundOfAll"][];
        };
        /** PageRequest */
        PageRequest: {
            /**
             * Url
             * @description An http or https address on the public web
             */
            url: string;
        };
        /** PageText */
        PageText: {
            /** Url */
            url: string;
            /** Final Url */
            final_url: string;
            /** Title */
            title: string;
            /** Text */
            text: string;
            /** Media Type */
            media_type: string;
            /** Fetched At */
            fetched_at: string;
            /**
             * Note
             * @description A sentence that says what was left out; empty if nothing was
             */
            note: string;
        };
        /**
         * PayoutAsk
         * @description Which earnings to pay out, or which earlier payout to show. With neither field, the earnings at the only accepted mint.
         */
        PayoutAsk: {
            /**
             * Mint
             * @description The mint whose earnings to pay out
             */
            mint?: string | null;
            /**
             * Payout Id
             * @description An earlier payout that is not spent yet; send no mint with it
             */
            payout_id?: string | null;
        };
        /**
         * PayoutLine
         * @description Earnings that were paid out, without their token.
         */
        PayoutLine: {
            /** Payout Id */
            payout_id: string;
            /** Mint */
            mint: string;
            /** Amount Sats */
            amount_sats: number;
            /** Spent */
            spent: boolean;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
        };
        /**
         * PayoutResponse
         * @description Earnings as a token. `left_sats` did not fit into it, and can be paid out next.
         */
        PayoutResponse: {
            /** Payout Id */
            payout_id: string;
            /** Mint */
            mint: string;
            /** Amount Sats */
            amount_sats: number;
            /** Spent */
            spent: boolean;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
            /** Token */
            token: string;
            /** Left Sats */
            left_sats: number;
        };
        /**
         * PricingResponse
         * @description What model calls cost, for which graphs, and which mints are accepted.
         */
        PricingResponse: {
            /**
             * Charged
             * @description False: this server is free
             */
            charged: boolean;
            /**
             * Unit
             * @default sat
             */
            unit: string;
            /** Price */
            price?: {
                [key: string]: unknown;
            } | null;
            /**
             * Graphs
             * @default []
             */
            graphs: string[];
            /**
             * Mints
             * @default []
             */
            mints: string[];
            /** Deposit Sats */
            deposit_sats?: number | null;
        };
        /** ProviderResponse */
        ProviderResponse: {
            /** Id */
            id: string;
            /** Title */
            title: string;
            /** Needs Key */
            needs_key: boolean;
            /** Needs Address */
            needs_address: boolean;
            /**
             * Key Hint
             * @description How a key looks
             */
            key_hint: string | null;
            /**
             * Key Page
             * @description Where to get a key
             */
            key_page: string | null;
            /** Installed */
            installed: boolean;
            /**
             * Install
             * @description What to install first
             */
            install: string | null;
            /** Default Model */
            default_model: string | null;
        };
        /**
         * Pruned
         * @description How many threads were pruned.
         */
        Pruned: {
            /** Pruned Count */
            pruned_count: number;
        };
        /** QuoteResponse */
        QuoteResponse: {
            /** Quote Id */
            quote_id: string;
            /** Source Id */
            source_id: string;
            /**
             * Start
             * @description Position in the stored text, in characters (code points)
             */
            start: number;
            /** End */
            end: number;
            /** Text */
            text: string;
            /**
             * Place
             * @description Where in the document it is: `page 3`, `slide 2`, `sheet Sales, A5:F9`; null if the document has no parts
             */
            place: string | null;
            /** @description For a quote from a document on a device: where it is there */
            passage: components["schemas"]["DevicePassage"] | null;
        };
        /**
         * RecoveryResponse
         * @description How many swaps still wait for their mint, and how many have an unknown outcome.
         */
        RecoveryResponse: {
            /** Waiting */
            waiting: number;
            /** Unknown */
            unknown: number;
        };
        /**
         * RefundAsk
         * @description A session to end.
         */
        RefundAsk: {
            /** Funding Id */
            funding_id: string;
        };
        /**
         * RefundClaim
         * @description A refund to claim.
         */
        RefundClaim: {
            /** Refund Id */
            refund_id: string;
        };
        /**
         * RefundOfAll
         * @description A payer's refund, without its token. `spent`: according to its mint.
         */
        RefundOfAll: {
            /** Refund Id */
            refund_id: string;
            /** Funding Id */
            funding_id: string;
            /** Owner */
            owner: string;
            /** Mint */
            mint: string;
            /** Amount Sats */
            amount_sats: number;
            /** Spent */
            spent: boolean;
            /**
             * Made At
             * Format: date-time
             */
            made_at: string;
        };
        /**
         * RefundResponse
         * @description What is left of a session, ready to be claimed.
         */
        RefundResponse: {
            /** Refund Id */
            refund_id: string;
            /** Amount Sats */
            amount_sats: number;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error";
        };
        /** RefusedRequest */
        RefusedRequest: {
            /**
             * Seq
             * @description Its place in the trail
             */
            seq: number;
            /** At */
            at: string;
            /** Url */
            url: string | null;
            /** Host */
            host: string;
            /** Step */
            step: string;
            /** Rule */
            rule: string;
            /** Reason */
            reason: string;
        };
        /**
         * ReportResponse
         * @description A report of a thread and its evidence.
         */
        ReportResponse: {
            /** Question */
            question: string;
            /**
             * Mode
             * @description `extractive`: the report consists of quotes; no model wrote it
             */
            mode: string;
            /** Asked At */
            asked_at: string | null;
            /**
             * Report
             * @description Markdown
             */
            report: string;
            /**
             * References
             * @description Ids of the sources [1], [2] ..., in that order
             */
            references: string[];
            /**
             * Head
             * @description The hash of the whole trail
             */
            head: string;
            /** @description The model that judged the sentences; null if none did */
            judge: components["schemas"]["JudgeResponse"] | null;
            /** Plan */
            plan: {
                [key: string]: unknown;
            };
            /** Approvals */
            approvals: components["schemas"]["ApprovalResponse"][];
            /**
             * Elsewhere
             * @description Number of entries on other branches of the thread, which the report does not use
             */
            elsewhere: number;
            /** Claims */
            claims: components["schemas"]["ClaimResponse"][];
            /**
             * Corrected
             * @description Sentences that went back to the writer, as they were before
             * @default []
             */
            corrected: components["schemas"]["CorrectedResponse"][];
            /** Quotes */
            quotes: components["schemas"]["QuoteResponse"][];
            /** Sources */
            sources: components["schemas"]["SourceResponse"][];
            /** @description What was sent to other hosts, and what was refused */
            egress: components["schemas"]["EgressResponse"];
        };
        /**
         * ResearchAnswer
         * @description A person's answer: `decision` on a plan (`approved` is the older name), `admit` and `deny` for sources.
         *
         *     `interruptId` names the interrupt; by default, the open one.
         */
        ResearchAnswer: {
            /**
             * Threadid
             * Format: uuid
             */
            threadId: string;
            /** Interruptid */
            interruptId?: string | null;
            /** Decision */
            decision?: ("approve" | "edit" | "reject" | "documents") | null;
            /** Approved */
            approved?: boolean | null;
            /** Plan */
            plan?: {
                [key: string]: unknown;
            } | null;
            /** Reason */
            reason?: string | null;
            /** Stop */
            stop?: boolean | null;
            /** Admit */
            admit?: string[] | null;
            /** Deny */
            deny?: string[] | null;
        };
        /**
         * ResearchQuestion
         * @description A question, with what the caller already knows. A new question on a thread stops the current one there.
         */
        ResearchQuestion: {
            /** Query */
            query: string;
            /** Retrievedcontext */
            retrievedContext?: string | null;
            /** Snippets */
            snippets?: components["schemas"]["Snippet"][] | null;
            /** Contexturls */
            contextUrls?: string[] | null;
            /** Onlydocuments */
            onlyDocuments?: boolean | null;
            /** Outline */
            outline?: boolean | null;
            /** Threadid */
            threadId?: string | null;
            /** Maxplanrevisions */
            maxPlanRevisions?: number | null;
            /** Reviewsources */
            reviewSources?: boolean | null;
        };
        /**
         * RewindCreate
         * @description Unknown fields are refused: with a misspelt `dry_run`, the turn would really be taken back.
         */
        RewindCreate: {
            /**
             * Turn Id
             * @description The turn to take back, with all that came after it: the id of the user's message that began it, the id of its first run, or the `rewind_id` of an earlier rewind, to undo that
             */
            turn_id: string;
            /**
             * Dry Run
             * @description Only say what would happen
             * @default false
             */
            dry_run: boolean;
            /**
             * Force
             * @description Go back even if somebody else has changed a file since
             * @default false
             */
            force: boolean;
        };
        /**
         * RewindResponse
         * @description What a rewind does, or would do.
         */
        RewindResponse: {
            /** Turn Id */
            turn_id: string;
            /** Can Rewind */
            can_rewind: boolean;
            /**
             * Problem
             * @description Why it cannot be done, and what to do; null: it can
             */
            problem: string | null;
            /** Files Changed */
            files_changed: string[];
            /** Insertions */
            insertions: number;
            /** Deletions */
            deletions: number;
            /** Files */
            files: components["schemas"]["RewoundFile"][];
            /**
             * Conflicts
             * @description Files that somebody else has changed since
             */
            conflicts: string[];
            /** Messages Removed */
            messages_removed: number;
            /**
             * Not Undone
             * @description What stays as it is: commands, effects of tools, money
             */
            not_undone: components["schemas"]["NotUndoneResponse"][];
            /**
             * Rewind Id
             * @description Send it as `turn_id` to undo the rewind; null: nothing was done
             */
            rewind_id: string | null;
        };
        /** RewoundFile */
        RewoundFile: {
            /** Path */
            path: string;
            /**
             * Change
             * @description What the rewind does to the file
             * @enum {string}
             */
            change: "created" | "changed" | "deleted";
            /** Insertions */
            insertions: number;
            /** Deletions */
            deletions: number;
        };
        /**
         * RunCommand
         * @description LangGraph's command: answer interrupts, update the state, go to a node.
         */
        RunCommand: {
            /** Resume */
            resume?: unknown;
            /** Update */
            update?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** Goto */
            goto?: string | components["schemas"]["SendTo"] | (string | components["schemas"]["SendTo"])[] | null;
        };
        /**
         * RunConfig
         * @description LangGraph's config. Other fields are stored with an assistant, and have no effect on a run.
         */
        RunConfig: {
            /** Tags */
            tags?: string[] | null;
            /** Recursion Limit */
            recursion_limit?: number | null;
            /** Max Concurrency */
            max_concurrency?: number | null;
            /** Run Name */
            run_name?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Configurable */
            configurable?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * RunCreate
         * @description A request for a run. `null` means the same as leaving a field out.
         */
        RunCreate: {
            /** Assistant Id */
            assistant_id: string;
            /** Input */
            input?: unknown;
            command?: components["schemas"]["RunCommand"] | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Webhook */
            webhook?: string | null;
            /**
             * Feedback Keys
             * @description Accepted and not used: addresses for feedback would come from LangSmith.
             */
            feedback_keys?: string[] | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "enqueue" | "interrupt" | "rollback" | "steer") | null;
            /** If Not Exists */
            if_not_exists?: ("create" | "reject") | null;
            /** On Disconnect */
            on_disconnect?: ("cancel" | "continue") | null;
            /** On Completion */
            on_completion?: ("delete" | "keep") | null;
            /** After Seconds */
            after_seconds?: number | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Strict Resume */
            strict_resume?: boolean | null;
        };
        /** RunFigures */
        RunFigures: {
            /** Running */
            running: number;
            /** Pending */
            pending: number;
            /**
             * Oldest Pending S
             * @description How many seconds the oldest run that could start now has waited
             */
            oldest_pending_s: number;
        };
        /**
         * RunResponse
         * @description One execution of a graph.
         */
        RunResponse: {
            /** Run Id */
            run_id?: string;
            /** Thread Id */
            thread_id?: string;
            /** Assistant Id */
            assistant_id?: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
            /**
             * Status
             * @enum {string}
             */
            status?: "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Kwargs */
            kwargs?: {
                [key: string]: unknown;
            };
            /**
             * Multitask Strategy
             * @enum {string}
             */
            multitask_strategy?: "reject" | "enqueue" | "interrupt" | "rollback" | "steer";
            /** Cancel Reason */
            cancel_reason?: string | null;
        };
        /**
         * SendTo
         * @description A node to go to, with its own input.
         */
        SendTo: {
            /** Node */
            node: string;
            /** Input */
            input?: unknown;
        };
        /** SentRequest */
        SentRequest: {
            /**
             * Seq
             * @description Its place in the trail
             */
            seq: number;
            /** At */
            at: string;
            /**
             * To
             * @enum {string}
             */
            to: "web" | "model";
            /** Method */
            method: string;
            /** Url */
            url: string;
            /** Host */
            host: string;
            /** Bytes */
            bytes: number;
            /** Body Sha256 */
            body_sha256: string | null;
            /** Step */
            step: string;
            /** Why */
            why: string;
            /**
             * Resend
             * @description 0: sent for the first time
             */
            resend: number;
            /**
             * Model
             * @description Empty for a request to the web
             */
            model: string;
            /** Answered */
            answered: boolean;
        };
        /** ServerAbout */
        ServerAbout: {
            /** Version */
            version: string;
            /**
             * Demo
             * @description Whether demo graphs are served, which need no model and no network
             */
            demo: boolean;
        };
        /**
         * SessionOfAll
         * @description A payer's session. Amounts are in sats.
         */
        SessionOfAll: {
            /** Funding Id */
            funding_id: string;
            /** Owner */
            owner: string;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error";
            /** Mint */
            mint: string;
            /** Funded */
            funded: number;
            /** Spent */
            spent: number;
            /** Balance */
            balance: number;
            /** Reserved */
            reserved: number;
            /** Refunded */
            refunded: number;
            /** Fees */
            fees: number;
            /** Ceiling */
            ceiling: number | null;
            /** Lost Answers */
            lost_answers: number;
            /**
             * Ending
             * @description Its last thread was deleted: the next sweep refunds it
             */
            ending: boolean;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Touched At
             * Format: date-time
             */
            touched_at: string;
        };
        /**
         * SideQuestionCreate
         * @description A question about the conversation. Neither it nor its answer is stored in the thread.
         */
        SideQuestionCreate: {
            /** Question */
            question: string;
        };
        /** SideQuestionResponse */
        SideQuestionResponse: {
            /** Answer */
            answer: string;
            /**
             * Run Id
             * @description The run that answered, on a thread of its own that is deleted soon; its usage is counted
             */
            run_id: string;
        };
        /**
         * Snippet
         * @description An excerpt of a document that stays on the caller's device, and its position in that document.
         */
        Snippet: {
            /** Id */
            id: string;
            /** Documentid */
            documentId: string;
            /** Label */
            label: string;
            /** Place */
            place?: string | null;
            /** Text */
            text: string;
            /** Start */
            start: number;
            /** End */
            end: number;
        };
        /** SourceResponse */
        SourceResponse: {
            /** Source Id */
            source_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "web" | "device";
            /** Url */
            url: string | null;
            /** Final Url */
            final_url: string | null;
            /** Title */
            title: string;
            /** Media Type */
            media_type: string;
            /** Status */
            status: number | null;
            /** Fetched At */
            fetched_at: string;
            /** Bytes Sha256 */
            bytes_sha256: string;
            /** Text Sha256 */
            text_sha256: string;
            /** Engine */
            engine: string | null;
            /**
             * Robots
             * @enum {string}
             */
            robots: "allowed" | "disallowed" | "none" | "unreachable" | "n/a";
        };
        /** SourceTextResponse */
        SourceTextResponse: {
            /** Source Id */
            source_id: string;
            /** Text */
            text: string;
            /** Text Sha256 */
            text_sha256: string;
        };
        /** SpendRow */
        SpendRow: {
            /** User */
            user: string;
            /** Connection */
            connection: string;
            /** Label */
            label: string;
            /** Day */
            day: string;
            /** Calls */
            calls: number;
            /** Input Tokens */
            input_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Usd */
            usd: number | null;
        };
        /** Spent */
        Spent: {
            /**
             * Today Usd
             * @default 0
             */
            today_usd: number;
            /**
             * Month Usd
             * @default 0
             */
            month_usd: number;
            /**
             * Calls Month
             * @default 0
             */
            calls_month: number;
        };
        /** StateAt */
        StateAt: {
            checkpoint: components["schemas"]["CheckpointRef"];
            /** Subgraphs */
            subgraphs?: boolean | null;
            /** Select */
            select?: string[] | null;
        };
        /** StatePatch */
        StatePatch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * StateResponse
         * @description A thread at one of its checkpoints.
         */
        StateResponse: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[];
            /** Next */
            next?: string[];
            /** Checkpoint */
            checkpoint?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Created At */
            created_at?: string | null;
            /** Parent Checkpoint */
            parent_checkpoint?: {
                [key: string]: unknown;
            } | null;
            /** Tasks */
            tasks?: {
                [key: string]: unknown;
            }[];
            /** Interrupts */
            interrupts?: {
                [key: string]: unknown;
            }[];
        };
        /**
         * StateUpdate
         * @description One write of a superstep.
         */
        StateUpdate: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** Command */
            command?: {
                [key: string]: unknown;
            } | null;
            /** As Node */
            as_node: string;
        };
        /** StateWrite */
        StateWrite: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** As Node */
            as_node?: string | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
        };
        /**
         * StateWritten
         * @description The checkpoint that an update created.
         */
        StateWritten: {
            /** Checkpoint */
            checkpoint: {
                [key: string]: unknown;
            };
        };
        /**
         * StatementEntry
         * @description An entry of the ledger. `key` names its call or swap.
         */
        StatementEntry: {
            /** Seq */
            seq: number;
            /**
             * Kind
             * @enum {string}
             */
            kind: "credit" | "charge" | "void" | "refund" | "fee";
            /** Amount Sats */
            amount_sats: number;
            /** Key */
            key: string;
            /**
             * At
             * Format: date-time
             */
            at: string;
        };
        /**
         * StatementResponse
         * @description A session with its tokens, refund and ledger entries; `next` is the `after` of the next page.
         */
        StatementResponse: {
            /** Funding Id */
            funding_id: string;
            /** Owner */
            owner: string;
            /**
             * State
             * @enum {string}
             */
            state: "pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error";
            /** Mint */
            mint: string;
            /** Funded */
            funded: number;
            /** Spent */
            spent: number;
            /** Balance */
            balance: number;
            /** Reserved */
            reserved: number;
            /** Refunded */
            refunded: number;
            /** Fees */
            fees: number;
            /** Ceiling */
            ceiling: number | null;
            /** Lost Answers */
            lost_answers: number;
            /**
             * Ending
             * @description Its last thread was deleted: the next sweep refunds it
             */
            ending: boolean;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Touched At
             * Format: date-time
             */
            touched_at: string;
            /** Tokens */
            tokens: components["schemas"]["FundedToken"][];
            refund: components["schemas"]["RefundOfAll"] | null;
            /** History */
            history: components["schemas"]["StatementEntry"][];
            /** Next */
            next: number | null;
        };
        /**
         * SteeringCreate
         * @description A message for a run that works.
         */
        SteeringCreate: {
            message: components["schemas"]["SteeringMessageCreate"];
        };
        /** SteeringMessageCreate */
        SteeringMessageCreate: {
            /**
             * Id
             * @description Your id for the message: sent again with it, the message enters once
             */
            id?: string | null;
            /**
             * Content
             * @description Text, or content blocks
             */
            content: string | {
                [key: string]: unknown;
            }[];
            /**
             * Type
             * @default human
             * @constant
             */
            type: "human";
        };
        /**
         * SteeringResponse
         * @description A message that was sent to a run.
         */
        SteeringResponse: {
            /** Message Id */
            message_id: string;
            /** Thread Id */
            thread_id: string;
            /**
             * Run Id
             * @description The run that gets the message; another one if its run ended or paused first
             */
            run_id: string;
            /**
             * Status
             * @description `waiting`; `given` to a model call that is not stored yet; `taken` into the thread; `enqueued` as the input of a run
             * @enum {string}
             */
            status: "waiting" | "given" | "taken" | "enqueued";
            /**
             * Position
             * @description Its place among the messages that wait for the run; 0 if it does not wait
             */
            position: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
        };
        /**
         * StepResponse
         * @description A node, model call, tool call or subagent that ran and has ended.
         */
        StepResponse: {
            /** Number */
            number: number;
            /** Run Id */
            run_id: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "node" | "model" | "tool" | "agent";
            /**
             * Name
             * @description Name of the node, model, tool or subagent
             */
            name: string;
            /**
             * Node
             * @description The node of the graph in which it ran
             */
            node: string | null;
            /**
             * Agent
             * @description The subagent in which it ran; null: the agent itself
             */
            agent: string | null;
            /** Namespace */
            namespace: string[];
            /**
             * Call Id
             * @description Id of the call of a tool or subagent
             */
            call_id: string | null;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /** Duration Ms */
            duration_ms: number;
            /**
             * Status
             * @enum {string}
             */
            status: "success" | "error" | "interrupted";
            /** Error */
            error: string | null;
            /** Input Tokens */
            input_tokens: number | null;
            /** Output Tokens */
            output_tokens: number | null;
            /**
             * Cost Usd
             * @description Cost of a model call; null: the price is unknown
             */
            cost_usd: number | null;
        };
        /** StepsResponse */
        StepsResponse: {
            /**
             * Steps
             * @description In the order they ended
             */
            steps: components["schemas"]["StepResponse"][];
            /**
             * Next
             * @description Send it as `after` to get more; null: there are no more yet
             */
            next: number | null;
        };
        /**
         * StoredChannel
         * @description How often a channel was written, and the bytes of it.
         */
        StoredChannel: {
            /** Versions */
            versions: number;
            /** Bytes */
            bytes: number;
        };
        /**
         * StoredChannels
         * @description Values of channels, stored as the changes that tasks made.
         */
        StoredChannels: {
            /** Count */
            count: number;
            /** Bytes */
            bytes: number;
            /** By Channel */
            by_channel: {
                [key: string]: components["schemas"]["StoredChannel"];
            };
        };
        /**
         * StoredPart
         * @description Rows, and their bytes.
         */
        StoredPart: {
            /** Count */
            count: number;
            /** Bytes */
            bytes: number;
        };
        /**
         * SubAgentMessagesResponse
         * @description A subagent's messages, from its task to its answer.
         */
        SubAgentMessagesResponse: {
            /**
             * Messages
             * @description LangChain's messages, newest first
             */
            messages: {
                [key: string]: unknown;
            }[];
            /** Total */
            total: number;
            /**
             * Next
             * @description Send it as `before` to get older messages; null: there are none
             */
            next: string | null;
            /**
             * Checkpoint Id
             * @description The checkpoint that was read; send it with the next request, so that pages fit together
             */
            checkpoint_id: string | null;
            /** Task Id */
            task_id: string;
            /** Name */
            name: string;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "interrupted" | "success" | "error";
        };
        /**
         * SubAgentTaskResponse
         * @description A task that the agent gave to a subagent.
         */
        SubAgentTaskResponse: {
            /**
             * Task Id
             * @description Id of the call of `task` that began it
             */
            task_id: string;
            /**
             * Name
             * @description Name of the subagent
             */
            name: string;
            /**
             * Description
             * @description The task in the agent's words; null: no longer stored
             */
            description: string | null;
            /**
             * Status
             * @description interrupted: it waits for an answer, or its run was stopped
             * @enum {string}
             */
            status: "running" | "interrupted" | "success" | "error";
            /** Run Id */
            run_id: string;
            /**
             * Started At
             * Format: date-time
             */
            started_at: string;
            /**
             * Duration Ms
             * @description How long it worked; null: it has not stopped yet
             */
            duration_ms: number | null;
            /**
             * Caller
             * @description The subagent that called it; null: the agent itself
             */
            caller: string | null;
            /**
             * Continues
             * @description The task that it continues; null: it started fresh
             */
            continues: string | null;
            /** Error */
            error: string | null;
            /**
             * Has Messages
             * @description Whether its messages are still stored
             */
            has_messages: boolean;
            /** Model Calls */
            model_calls: number;
            /** Input Tokens */
            input_tokens: number | null;
            /** Output Tokens */
            output_tokens: number | null;
            /**
             * Cost Usd
             * @description null: the price is unknown
             */
            cost_usd: number | null;
        };
        /** SubAgentsResponse */
        SubAgentsResponse: {
            /**
             * Subagents
             * @description Newest first
             */
            subagents: components["schemas"]["SubAgentTaskResponse"][];
            /**
             * Next
             * @description Send it as `before` to get older tasks; null: there are none
             */
            next: string | null;
        };
        /** Superstep */
        Superstep: {
            /** Updates */
            updates: components["schemas"]["StateUpdate"][];
        };
        /**
         * SweepResponse
         * @description What a sweep did: sessions refunded, reservations of lost calls released, refunds found to be claimed, and failures.
         */
        SweepResponse: {
            /** Refunded */
            refunded: number;
            /** Released */
            released: number;
            /** Claimed */
            claimed: number;
            /** Failed */
            failed: number;
        };
        /**
         * TaskResponse
         * @description A subagent that works in the background, on a thread of its own.
         */
        TaskResponse: {
            /** Task Id */
            task_id: string;
            /**
             * Thread Id
             * @description The task's own thread; the same as its id
             */
            thread_id: string;
            /** Parent Thread Id */
            parent_thread_id: string;
            /**
             * Run Id
             * @description The newest run on the task's thread
             */
            run_id: string;
            /** Agent Name */
            agent_name: string;
            /**
             * Description
             * @description What the task is
             */
            description: string;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "running" | "waiting" | "success" | "error" | "cancelled";
            /**
             * Result
             * @description Its answer; null in lists, and until it succeeded
             */
            result: string | null;
            /** Error */
            error: string | null;
            /**
             * Question
             * @description What it asks, as JSON, while it waits for an answer on its own thread
             */
            question: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at: string;
        };
        /** TasksResponse */
        TasksResponse: {
            /**
             * Tasks
             * @description Oldest first
             */
            tasks: components["schemas"]["TaskResponse"][];
        };
        /** TestProblem */
        TestProblem: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "key_missing" | "key_malformed" | "key_of_another_provider" | "key_refused" | "forbidden" | "no_credit" | "rate_limited" | "region" | "organisation_disabled" | "model_missing" | "model_unknown" | "model_not_pulled" | "model_not_loaded" | "model_loading" | "not_a_chat_model" | "no_tools" | "no_streaming" | "context_too_small" | "address_missing" | "address_malformed" | "address_path" | "web_page" | "another_server" | "redirect" | "needs_https" | "needs_http" | "tls" | "unknown_host" | "not_running" | "unreachable" | "proxy" | "timeout" | "server_error" | "overloaded" | "not_json" | "not_http" | "empty_answer" | "package_missing" | "other";
            /** Sentence */
            sentence: string;
        };
        /** TestResponse */
        TestResponse: {
            /** Ok */
            ok: boolean;
            /** Model */
            model: string | null;
            /** Answers */
            answers: boolean;
            /** Tools */
            tools: boolean | null;
            /** Streams */
            streams: boolean | null;
            /** Sees */
            sees: boolean | null;
            /** Latency Ms */
            latency_ms: number | null;
            /**
             * Models
             * @description The models that the provider lists
             */
            models: string[];
            problem: components["schemas"]["TestProblem"] | null;
        };
        /**
         * ThreadCommand
         * @description A command to a thread. The fields of `params` depend on the method.
         */
        ThreadCommand: {
            /** Id */
            id: number;
            /** Method */
            method: string;
            /** Params */
            params?: {
                [key: string]: unknown;
            } | null;
        };
        /** ThreadCount */
        ThreadCount: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Status */
            status?: ("idle" | "busy" | "interrupted" | "error") | null;
        };
        /** ThreadCreate */
        ThreadCreate: {
            /** Thread Id */
            thread_id?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** If Exists */
            if_exists?: ("raise" | "do_nothing") | null;
            /** Supersteps */
            supersteps?: components["schemas"]["Superstep"][] | null;
            /** Graph Id */
            graph_id?: string | null;
            /** Ttl */
            ttl?: components["schemas"]["Ttl"] | number | null;
        };
        /**
         * ThreadCronCreate
         * @description A request for runs on a thread, by a schedule.
         */
        ThreadCronCreate: {
            /** Input */
            input?: unknown;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Webhook */
            webhook?: string | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Assistant Id */
            assistant_id: string;
            /**
             * Schedule
             * @description Minute, hour, day of month, month and day of week, such as `0 9 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`
             */
            schedule: string;
            /** Timezone */
            timezone?: string | null;
            /**
             * End Time
             * @description No run starts after this time; without an offset, in UTC
             */
            end_time?: string | null;
            /** Enabled */
            enabled?: boolean | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "rollback" | "interrupt" | "enqueue") | null;
        };
        /** ThreadPatch */
        ThreadPatch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Ttl */
            ttl?: components["schemas"]["Ttl"] | number | null;
        };
        /** ThreadPrune */
        ThreadPrune: {
            /** Thread Ids */
            thread_ids: string[];
            /** Strategy */
            strategy?: ("delete" | "keep_latest") | null;
        };
        /**
         * ThreadResponse
         * @description A conversation; `interrupts` are the open ones, by the task that raised them; `ttl` only if it was asked for.
         */
        ThreadResponse: {
            /** Thread Id */
            thread_id?: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
            /** State Updated At */
            state_updated_at?: string | null;
            /**
             * Status
             * @enum {string}
             */
            status?: "idle" | "busy" | "interrupted" | "error";
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Config */
            config?: {
                [key: string]: unknown;
            };
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Interrupts */
            interrupts?: {
                [key: string]: {
                    [key: string]: unknown;
                }[];
            };
            /** Error */
            error?: {
                [key: string]: unknown;
            } | null;
            /** Extracted */
            extracted?: {
                [key: string]: unknown;
            };
            ttl?: components["schemas"]["TtlResponse"];
        };
        /** ThreadSearch */
        ThreadSearch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Status */
            status?: ("idle" | "busy" | "interrupted" | "error") | null;
            /** Ids */
            ids?: string[] | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Sort By */
            sort_by?: ("thread_id" | "status" | "created_at" | "updated_at" | "state_updated_at") | null;
            /** Sort Order */
            sort_order?: ("asc" | "desc") | null;
            /** Select */
            select?: ("thread_id" | "created_at" | "updated_at" | "state_updated_at" | "metadata" | "config" | "context" | "status" | "values" | "interrupts" | "error")[] | null;
            /** Extract */
            extract?: {
                [key: string]: string;
            } | null;
        };
        /**
         * ThreadStorage
         * @description The space that a thread's checkpoints take, as stored.
         */
        ThreadStorage: {
            /** Thread Id */
            thread_id: string;
            /** Total Bytes */
            total_bytes: number;
            checkpoints: components["schemas"]["StoredPart"];
            channel_values: components["schemas"]["StoredChannels"];
            pending_writes: components["schemas"]["StoredPart"];
        };
        /**
         * ThreadUsageResponse
         * @description Model usage of all runs of a thread, including the active one.
         */
        ThreadUsageResponse: {
            /** @description Of the last model call of the agent itself, not of a subagent */
            context: components["schemas"]["ContextResponse"] | null;
            /** Calls */
            calls: number;
            /** Input Tokens */
            input_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Cost Usd */
            cost_usd: number | null;
            /** Unpriced Runs */
            unpriced_runs: number;
        };
        /**
         * TokenFund
         * @description A token for a new session, or to top one up.
         */
        TokenFund: {
            /**
             * Token
             * @description A Cashu token: cashuA… or cashuB…
             */
            token: string;
            /** Funding Id */
            funding_id?: string | null;
            /**
             * Ceiling Sats
             * @description The most the session may spend, over all top-ups
             */
            ceiling_sats?: number | null;
            /**
             * Refund Pubkey
             * @description The refund is locked to this key (NUT-11)
             */
            refund_pubkey?: string | null;
        };
        /**
         * TokenValidate
         * @description A token to check.
         */
        TokenValidate: {
            /**
             * Token
             * @description A Cashu token: cashuA… or cashuB…
             */
            token: string;
        };
        /**
         * Ttl
         * @description How long a thread lives without being used. `delete` erases it as a whole, `keep_latest` only its history.
         */
        Ttl: {
            /** Strategy */
            strategy?: ("delete" | "keep_latest") | null;
            /**
             * Ttl
             * @description Minutes; null takes a thread's time to live away
             */
            ttl?: number | null;
        };
        /**
         * TtlResponse
         * @description When a thread expires if it is not used before.
         */
        TtlResponse: {
            /**
             * Strategy
             * @enum {string}
             */
            strategy?: "delete" | "keep_latest";
            /** Ttl Minutes */
            ttl_minutes?: number;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at?: string;
        };
        /**
         * TurnResponse
         * @description A run with an input, and the runs that resumed it after an answer. Turns with the same `previous` are versions of one message.
         */
        TurnResponse: {
            /** Turn Id */
            turn_id: string;
            /** Previous */
            previous: string | null;
            /** Run Ids */
            run_ids: string[];
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Checkpoint Id
             * @description The checkpoint that received the input
             */
            checkpoint_id: string | null;
            /**
             * Last Checkpoint Id
             * @description The checkpoint at which the turn ended
             */
            last_checkpoint_id: string | null;
            /**
             * Fork From
             * @description The checkpoint from which to start another version of the turn; null: it was pruned
             */
            fork_from: string | null;
            /**
             * Message Ids
             * @description Ids of the input's messages, if it had any
             */
            message_ids: string[];
        };
        /** TurnsResponse */
        TurnsResponse: {
            /**
             * Turns
             * @description Newest first
             */
            turns: components["schemas"]["TurnResponse"][];
            /**
             * Next
             * @description Send it as `before` to get older turns; null: there are none
             */
            next: string | null;
            /**
             * Head
             * @description The newest turn of the thread's current branch
             */
            head: string | null;
        };
        /**
         * UploadBegin
         * @description A file to upload in parts. `if_match` is the version to replace; `if_none_match: "*"` means that the file must not exist yet.
         */
        UploadBegin: {
            /** Path */
            path: string;
            /** Root */
            root?: string | null;
            /** If Match */
            if_match?: string | null;
            /** If None Match */
            if_none_match?: string | null;
        };
        /** UploadBegun */
        UploadBegun: {
            /** Upload Id */
            upload_id: string;
            /** Max Part Bytes */
            max_part_bytes: number;
            /** Max Parts */
            max_parts: number;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
        };
        /** UploadPart */
        UploadPart: {
            /** Part */
            part: number;
            /** Size */
            size: number;
        };
        /**
         * UsageResponse
         * @description Total usage of one model; `key` is the group. `cost_usd` is null if no price is known.
         */
        UsageResponse: {
            /** Key */
            key: string;
            /** Runs */
            runs: number;
            /** Model */
            model: string;
            /** Calls */
            calls: number;
            /** Input Tokens */
            input_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Cost Usd */
            cost_usd: number | null;
            /**
             * Unpriced Runs
             * @description Runs whose price is unknown; `cost_usd` does not include them
             */
            unpriced_runs: number;
        };
        /**
         * ValuationResponse
         * @description What a token is worth. `code` and `detail` say why it would not be accepted.
         */
        ValuationResponse: {
            /** Ok */
            ok: boolean;
            /** Amount Sats */
            amount_sats?: number | null;
            /** Fee Sats */
            fee_sats?: number | null;
            /** Net Sats */
            net_sats?: number | null;
            /** Mint */
            mint?: string | null;
            /** Unit */
            unit?: string | null;
            /** Code */
            code?: string | null;
            /** Detail */
            detail?: string | null;
        };
        /** VerificationCounts */
        VerificationCounts: {
            /** Sources */
            sources: number;
            /** Quotes */
            quotes: number;
            /** Claims */
            claims: number;
            /** Elsewhere */
            elsewhere: number;
        };
        /** VerificationResponse */
        VerificationResponse: {
            /** Ok */
            ok: boolean;
            /** Head */
            head: string;
            /** Parts */
            parts: components["schemas"]["CheckedPartResponse"][];
            counts: components["schemas"]["VerificationCounts"];
            /**
             * Format
             * @description The bundle's format; the newest is `stepwell-bundle-6`
             * @default
             */
            format: string;
            /**
             * Signed By
             * @description The public key of its signature, if that is valid
             */
            signed_by?: string | null;
            /**
             * Vouched
             * @description Whether that is the given `key`; null if none was given
             */
            vouched?: boolean | null;
            /**
             * Lacks
             * @description What the bundle does not prove, as sentences; with `strict`, these are problems
             * @default []
             */
            lacks: string[];
            /**
             * Notes
             * @description Other things a reader should know, such as which bundle it builds on
             * @default []
             */
            notes: string[];
            /**
             * Marked Today
             * @description Claims that passed older checks and do not pass today's
             * @default []
             */
            marked_today: components["schemas"]["DefectResponse"][];
        };
        /** VersionChoice */
        VersionChoice: {
            /** Version */
            version: number;
        };
        /** VersionsQuery */
        VersionsQuery: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
        };
        /** WaitingMessage */
        WaitingMessage: {
            /** Message Id */
            message_id: string;
            /** Thread Id */
            thread_id: string;
            /**
             * Run Id
             * @description The run that gets the message; another one if its run ended or paused first
             */
            run_id: string;
            /**
             * Status
             * @description `waiting`; `given` to a model call that is not stored yet; `taken` into the thread; `enqueued` as the input of a run
             * @enum {string}
             */
            status: "waiting" | "given" | "taken" | "enqueued";
            /**
             * Position
             * @description Its place among the messages that wait for the run; 0 if it does not wait
             */
            position: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Content */
            content: unknown;
        };
        /**
         * WaitingMessages
         * @description The messages that the thread's runs have not taken yet.
         */
        WaitingMessages: {
            /** Messages */
            messages: components["schemas"]["WaitingMessage"][];
        };
        /** WaitingPage */
        WaitingPage: {
            /**
             * Interrupts
             * @description Oldest first
             */
            interrupts: components["schemas"]["WaitingResponse"][];
            /**
             * Next
             * @description Send it as `after` to get more; null: there are no more
             */
            next: string | null;
            /** Total */
            total: number;
        };
        /**
         * WaitingResponse
         * @description An open interrupt. Answer it with `command: {resume: {interrupt_id: answer}}`.
         */
        WaitingResponse: {
            /** Interrupt Id */
            interrupt_id: string;
            /** Thread Id */
            thread_id: string;
            /**
             * Thread Title
             * @description `title` of the thread's metadata
             */
            thread_title: string | null;
            /** Run Id */
            run_id: string;
            /** Assistant Id */
            assistant_id: string;
            /**
             * Type
             * @description `type` of the payload; tool_approval for LangChain's action requests; otherwise unknown
             */
            type: string;
            /**
             * Asker
             * @description The subagent that asks; null: the agent itself
             */
            asker: string | null;
            /** Namespace */
            namespace: string[];
            /** Payload */
            payload: unknown;
            /** Response Schema */
            response_schema: {
                [key: string]: unknown;
            } | null;
            /** Created At */
            created_at: string | null;
            /**
             * Deadline At
             * @description When the device counts as late; it can still answer after that
             */
            deadline_at: string | null;
            /** @description The device that has claimed it; null: none */
            claim: components["schemas"]["InterruptClaimHolder"] | null;
        };
        /**
         * WorkspaceFile
         * @description A file below the root.
         */
        WorkspaceFile: {
            /** Path */
            path: string;
            /** Size */
            size: number;
            /**
             * Modified At
             * Format: date-time
             */
            modified_at: string;
            /**
             * Etag
             * @description The version, for If-Match; not in listings
             */
            etag?: string | null;
        };
        /** WorkspaceListing */
        WorkspaceListing: {
            /** Files */
            files: components["schemas"]["WorkspaceFile"][];
            /**
             * Cursor
             * @description Send it to get the next page; null: there are no more
             */
            cursor: string | null;
        };
        /**
         * Problem
         * @description An RFC 9457 problem: `detail` says what is wrong and what to do.
         */
        Problem: {
            /**
             * Type
             * @description The kind of problem, as a URN
             */
            type: string;
            /** Title */
            title: string;
            /** Status */
            status: number;
            /** Detail */
            detail: string;
            /**
             * Instance
             * @default null
             */
            instance: string | null;
            /**
             * Errors
             * @description The invalid fields: `{field, message}`
             * @default null
             */
            errors: {
                [key: string]: unknown;
            }[] | null;
            /**
             * Interrupt Ids
             * @description The interrupts concerned
             * @default null
             */
            interrupt_ids: string[] | null;
            /**
             * Reference
             * @description The operator can find the cause in the log under this reference
             * @default null
             */
            reference: string | null;
        };
        FileRows: {
            files: {
                path: string;
                /** @default  */
                file_id: string;
                /** @default false */
                is_dir: boolean;
                /** @default null */
                title: string | null;
                /** @default null */
                file_type: string | null;
                /** @default 0 */
                size: number;
                /** @default  */
                modified_at: string;
                /** @default null */
                hash: string | null;
            }[];
            /** @default false */
            truncated: boolean;
        };
        /** @description The lines that were asked for, as they are in the file. */
        FileText: {
            text: string;
            /** @default null */
            total_lines: number | null;
            /** @default null */
            hash: string | null;
            /** @default  */
            file_id: string;
        };
        SearchHits: {
            hits: {
                path: string;
                text: string;
                /** @default null */
                score: number | null;
                /** @default null */
                line_number: number | null;
                /** @default  */
                file_id: string;
            }[];
        };
        LineMatches: {
            matches: {
                path: string;
                line_number: number;
                line_content: string;
                /** @default 0 */
                match_start: number;
                /** @default 0 */
                match_end: number;
            }[];
            /** @default false */
            truncated: boolean;
        };
        WrittenFile: {
            file_id: string;
            /** @default null */
            path: string | null;
            /** @default null */
            hash: string | null;
        };
        PatchedFile: {
            file_id: string;
            /** @default null */
            path: string | null;
            /** @default null */
            hash: string | null;
            /** @default 1 */
            occurrences: number;
        };
        /** @description What was deleted, or where it was moved to, and how many files that were. */
        RelocatedFiles: {
            /** @default null */
            path: string | null;
            /** @default  */
            file_id: string;
            /** @default 1 */
            count: number;
        };
        /** @description Why an operation was not carried out. Nothing has changed. */
        DeviceError: {
            /** @enum {string} */
            code: "rejected" | "not_found" | "conflict" | "too_large" | "timeout" | "failed";
            /** @default  */
            message: string;
        };
        /** @description The answer to an interrupt of type client_tool_execution: one result per call, with content or error. */
        ClientToolResults: {
            tool_results: {
                tool_call_id: string;
                content?: components["schemas"]["FileRows"] | components["schemas"]["FileText"] | components["schemas"]["SearchHits"] | components["schemas"]["LineMatches"] | components["schemas"]["WrittenFile"] | components["schemas"]["PatchedFile"] | components["schemas"]["RelocatedFiles"];
                error?: components["schemas"]["DeviceError"];
            }[];
            claim_id?: string;
        };
    };
    responses: {
        /** @description The body is not JSON */
        Problem400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not signed in */
        Problem401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not allowed */
        Problem403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not found */
        Problem404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body did not arrive in time */
        Problem408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Conflict with the current state */
        Problem409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The interrupt is no longer open */
        Problem410: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The file has another version */
        Problem412: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too large */
        Problem413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The Content-Type is not JSON */
        Problem415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A field is invalid, or the request cannot be carried out */
        Problem422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Limit reached; retry after Retry-After */
        Problem429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Temporarily unavailable; retry after Retry-After */
        Problem503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The workspace is full */
        Problem507: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    create_cron: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CronCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_thread_cron: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCronCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_crons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CronSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    count_crons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CronCount"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_cron: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cron_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_cron: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cron_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_cron: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                cron_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CronPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_cron_slots: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only slots before this time */
                before?: string | null;
            };
            header?: never;
            path: {
                cron_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CronSlotResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_runs: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                status?: ("pending" | "running" | "success" | "error" | "timeout" | "interrupted") | null;
                select?: ("run_id" | "thread_id" | "assistant_id" | "created_at" | "updated_at" | "status" | "metadata" | "kwargs" | "multitask_strategy" | "cancel_reason")[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
                /** @description A Cashu token that pays for the run */
                "x-cashu"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    wait_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
                /** @description A Cashu token that pays for the run */
                "x-cashu"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description The graph's final values; a failed run returns `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_run: {
        parameters: {
            query?: {
                cancel_on_disconnect?: boolean;
            };
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The graph's final values; a failed run returns `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_run_stream: {
        parameters: {
            query?: {
                cancel_on_disconnect?: boolean;
                stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    cancel_run: {
        parameters: {
            query?: {
                wait?: boolean;
                action?: "interrupt" | "rollback";
            };
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run has been asked to stop */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The run has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    count_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCount"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    prune_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadPrune"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pruned"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread: {
        parameters: {
            query?: {
                /** @description More fields: `ttl` says when the thread expires */
                include?: "ttl"[];
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_thread: {
        parameters: {
            query?: never;
            header?: {
                prefer?: string;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"];
                };
            };
            /** @description Done; the client asked for no body */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_storage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadStorage"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    copy_thread: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state: {
        parameters: {
            query?: {
                subgraphs?: boolean;
                select?: string[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_thread_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StateWrite"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateWritten"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_thread_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StatePatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state_at: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StateAt"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state_at_id: {
        parameters: {
            query?: {
                subgraphs?: boolean;
                select?: string[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
                checkpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_history: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_thread_history: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HistoryQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread: {
        parameters: {
            query?: {
                stream_mode?: ("run_modes" | "lifecycle" | "state_update")[] | null;
                /** @description The same as stream_mode */
                stream_modes?: ("run_modes" | "lifecycle" | "state_update")[] | null;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_messages: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
                checkpoint_id?: string | null;
                /** @description Go beyond `limit`, by at most 100 messages, so that the page begins with the message of the user that led to it */
                whole_turns?: boolean;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_turns: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TurnsResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_steps: {
        parameters: {
            query?: {
                run_id?: string | null;
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepsResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_usage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadUsageResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_interrupts: {
        parameters: {
            query?: {
                limit?: number;
                after?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingPage"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_interrupts: {
        parameters: {
            query?: {
                limit?: number;
                after?: string | null;
                /** @description Cut longer texts in payloads, for a list. Payloads that a device carries out stay whole */
                longest_text?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingPage"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_subagents: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubAgentsResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_subagent_messages: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubAgentMessagesResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    claim_interrupt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                interrupt_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InterruptClaimCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InterruptClaimResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            410: components["responses"]["Problem410"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    release_interrupt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                interrupt_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InterruptClaimRelease"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    rewind_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RewindCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RewindResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    steer_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SteeringCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SteeringResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    ask_side_question: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SideQuestionCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SideQuestionResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_waiting_messages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingMessages"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    withdraw_message: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                message_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_background_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TasksResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_background_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    cancel_background_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                task_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    send_thread_command: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCommand"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread_events_by_websocket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            /** @description A websocket is expected here */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventsQuery"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_stateless_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_stateless_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
                /** @description A Cashu token that pays for the run */
                "x-cashu"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    wait_stateless_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
                /** @description A Cashu token that pays for the run */
                "x-cashu"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description The graph's final values; a failed run returns `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_run_batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRun"][];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    cancel_runs: {
        parameters: {
            query?: {
                action?: "interrupt" | "rollback";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelMany"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_assistants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    count_assistants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantCount"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_graphs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphReadiness"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_assistant: {
        parameters: {
            query?: {
                delete_threads?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_assistant_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VersionsQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    set_latest_assistant_version: {
        parameters: {
            query?: {
                /** @description The version, if the body does not name it */
                version?: number | null;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["VersionChoice"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_schemas: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphSchemas"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_graph: {
        parameters: {
            query?: {
                xray?: number | boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_subgraphs: {
        parameters: {
            query?: {
                recurse?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["GraphSchemas"];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_subgraph: {
        parameters: {
            query?: {
                recurse?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["GraphSchemas"];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_item: {
        parameters: {
            query: {
                key: string;
                namespace?: string[] | null;
                refresh_ttl?: boolean | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemResponse"] | null;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    put_item: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemPut"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_item: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemDelete"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_items: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemsResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_namespaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamespaceQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NamespacesResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    follow_model: {
        parameters: {
            query?: {
                /** @description The id of an embedded model; operators only */
                model?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    load_model: {
        parameters: {
            query?: {
                /** @description The id of an embedded model; operators only */
                model?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_embedder: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbedderResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_embedder_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/octet-stream": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    read_page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PageRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageText"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    read_document: {
        parameters: {
            query?: never;
            header: {
                /** @description Percent-encoded; only its ending is used */
                "x-stepwell-file-name": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentText"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    list_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage: {
        parameters: {
            query?: {
                group_by?: "run" | "thread" | "owner" | "day" | "model";
                thread_id?: string | null;
                /** @description Only runs that ended on this day or later, in UTC */
                since?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage_of_all: {
        parameters: {
            query?: {
                group_by?: "run" | "thread" | "owner" | "day" | "model";
                /** @description Only runs that ended on this day or later, in UTC */
                since?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    export_data: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description JSON lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/x-ndjson": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_effects: {
        parameters: {
            query?: {
                thread_id?: string | null;
                /** @description Include effects whose outcome is known or that are still running */
                known?: boolean;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_effects_of_all: {
        parameters: {
            query?: {
                thread_id?: string | null;
                /** @description Include effects whose outcome is known or that are still running */
                known?: boolean;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    settle_effect: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EffectSettle"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    settle_effect_of_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EffectSettle"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    call_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    jsonrpc: "2.0";
                    id?: string | number | null;
                    /** @description Such as SendMessage, SendStreamingMessage, GetTask, CancelTask, ListTasks */
                    method: string;
                    params?: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description A response of JSON-RPC with `result` or `error`; a stream of them for streaming methods */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_ok: {
        parameters: {
            query?: {
                check_db?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Info"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_metrics: {
        parameters: {
            query?: {
                format?: "prometheus" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counters */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/plain": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/html": string;
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    list_connections: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionsResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    add_connection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewConnection"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    test_connection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConnectionTest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    choose_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewChoice"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    allow_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAllowed"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_connection_spend: {
        parameters: {
            query?: {
                /** @description Only this user's; operators only */
                user?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpendRow"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                connection_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    change_connection: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                connection_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConnectionChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    validate_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenValidate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValuationResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    fund_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenFund"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FundResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_balance: {
        parameters: {
            query: {
                funding_id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_sessions: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalanceResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    refund_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefundAsk"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefundResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    claim_refund: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefundClaim"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedRefund"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            410: components["responses"]["Problem410"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_pricing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PricingResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_history: {
        parameters: {
            query: {
                funding_id: string;
                /** @description The seq of the last entry you have seen */
                after?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_sessions_of_all: {
        parameters: {
            query?: {
                state?: ("pending" | "authorized" | "redeeming" | "active" | "exhausted" | "settling" | "refund_ready" | "refunded" | "rejected" | "error") | null;
                owner?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionOfAll"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_session_of_all: {
        parameters: {
            query?: {
                /** @description The seq of the last entry you have seen */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                funding_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatementResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_owed: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwedResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_payment_operations: {
        parameters: {
            query?: {
                /** @description Include swaps that are in progress or wait for their mint */
                pending?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationResponse"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    reopen_payment_operation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    audit_wallet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    pay_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PayoutAsk"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_payouts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutLine"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    recover_payments: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    sweep_payments: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    verify_bundle: {
        parameters: {
            query?: {
                /** @description The expected head, or at least its first 16 digits */
                head?: string | null;
                /** @description The expected signer's public key, `ed25519:...` */
                key?: string | null;
                /** @description Report what the bundle does not prove as a problem, such as who signed it or where its pages came from */
                strict?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/zip": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationResponse"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    verify_research: {
        parameters: {
            query?: {
                /** @description The expected head, or at least its first 16 digits */
                head?: string | null;
                /** @description The expected signer's public key, `ed25519:...` */
                key?: string | null;
                /** @description Report what the bundle does not prove as a problem, such as who signed it or where its pages came from */
                strict?: boolean;
            };
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_research_report: {
        parameters: {
            query?: {
                /** @description The SHA-256 of a report's Markdown; without it, the newest report */
                sha256?: string | null;
            };
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_source_text: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                threadId: string;
                sourceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceTextResponse"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    export_research: {
        parameters: {
            query?: {
                format?: "md" | "html" | "pdf" | "docx" | "bib" | "json" | "zip";
            };
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/markdown; charset=utf-8": string;
                    "text/html; charset=utf-8": string;
                    "application/pdf": string;
                    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": string;
                    "application/x-bibtex; charset=utf-8": string;
                    "application/vnd.citationstyles.csl+json": string;
                    "application/zip": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    research: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResearchQuestion"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    approve_research: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResearchAnswer"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_research: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    research_bundle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bundle */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/zip": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    export_argument: {
        parameters: {
            query?: {
                form?: "md" | "json" | "argdown" | "mermaid";
            };
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The argument */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                    "text/markdown": string;
                    "text/plain": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    ask_agent: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key you choose for this request, such as a UUID: a retry with the same key returns the first result */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentQuestion"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_workspace_files: {
        parameters: {
            query?: {
                /** @description The workspace, such as /company/workspace/ */
                root?: string | null;
                prefix?: string;
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceListing"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_workspace_file: {
        parameters: {
            query?: {
                /** @description The workspace, such as /company/workspace/ */
                root?: string | null;
            };
            header?: {
                range?: string | null;
                "if-none-match"?: string | null;
                "if-range"?: string | null;
            };
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Partial Content */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not modified */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            /** @description The range is outside the file */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    put_workspace_file: {
        parameters: {
            query?: {
                /** @description The workspace, such as /company/workspace/ */
                root?: string | null;
            };
            header?: {
                "if-match"?: string | null;
                "if-none-match"?: string | null;
            };
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceFile"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            408: components["responses"]["Problem408"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            507: components["responses"]["Problem507"];
        };
    };
    delete_workspace_file: {
        parameters: {
            query?: {
                /** @description The workspace, such as /company/workspace/ */
                root?: string | null;
            };
            header?: {
                "if-match"?: string | null;
            };
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            408: components["responses"]["Problem408"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            507: components["responses"]["Problem507"];
        };
    };
    begin_upload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UploadBegin"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadBegun"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            408: components["responses"]["Problem408"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            507: components["responses"]["Problem507"];
        };
    };
    put_upload_part: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                upload_id: string;
                part: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadPart"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            408: components["responses"]["Problem408"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            507: components["responses"]["Problem507"];
        };
    };
    complete_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspaceFile"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            408: components["responses"]["Problem408"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            507: components["responses"]["Problem507"];
        };
    };
}
