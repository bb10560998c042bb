/** The messages between `sqlite.ts` and its thread, as JSON. */
import type { Row, Value } from './sql.ts'

export type Connection = 'reader' | 'writer'

/** `text` is sent with the first use of a statement; after that, its number identifies it. */
export type QueryRequest = {
  id: number
  connection: Connection
  statement: number
  text?: string
  values: readonly Value[]
}

export type QueryResponse = { id: number; rows?: Row[]; error?: { message: string; code: number } }
