// What an agent asks of this device, and what it is answered.

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export type Content = Record<string, unknown>;
export type Result =
  { tool_call_id: string; content: Content } | { tool_call_id: string; error: { code: string; message: string } };
