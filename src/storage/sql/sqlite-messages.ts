/** What `sqlite.ts` and its thread say to each other, as JSON. */
import type { Row, Value } from './sql.ts'

export type Connection = 'reader' | 'writer'

/** `text` comes with the first call of a statement; after that its number stands for it. */
export type QueryRequest = {
  id: number
  connection: Connection
  statement: number
  text?: string
  values: readonly Value[]
}

export type QueryResponse = { id: number; rows?: Row[]; error?: { message: string; code: number } }
