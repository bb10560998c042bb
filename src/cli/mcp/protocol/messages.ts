/** Messages of JSON-RPC 2.0, and the errors that a server answers with. */

export type Id = string | number
export type Params = Readonly<Record<string, unknown>>

export type Outgoing =
  | { jsonrpc: '2.0'; id: Id; result: object }
  | { jsonrpc: '2.0'; id: Id | null; error: { code: number; message: string; data?: unknown } }
  | { jsonrpc: '2.0'; id: Id; method: string; params: object }
  | { jsonrpc: '2.0'; method: string; params: object }

export const CODES = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  version: -32022,
} as const

/** The request itself is wrong; what a tool could not do is a result. */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export const errorFor = (id: Id | null, error: ProtocolError): Outgoing => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: error.code,
    message: error.message,
    ...(error.data === undefined ? {} : { data: error.data }),
  },
})

export const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isId = (value: unknown): value is Id => typeof value === 'string' || Number.isSafeInteger(value)
