/**
 * The database as the rooms above see it. SQL is written in the subset that SQLite and PostgreSQL share: types TEXT and
 * BIGINT, times as milliseconds, JSON as TEXT, `ON CONFLICT`, `RETURNING`, partial indexes; no booleans, no bytes, no
 * functions of one of them alone.
 *
 * A statement can only be made by the tag below, so a value can never become part of the text.
 */

export type Value = string | number | null
export type Row = Record<string, Value>

const made: unique symbol = Symbol('statement')

export type Statement = {
  readonly [made]: true
  /** The text around the values: `texts.length === values.length + 1`. */
  readonly texts: readonly string[]
  readonly values: readonly Value[]
}

/** statement`SELECT … WHERE id = ${id}`. A statement given as a value is spliced in. */
export function statement(texts: TemplateStringsArray, ...values: (Value | Statement)[]): Statement {
  if (!values.some(isStatement)) return { [made]: true, texts, values: values as Value[] }
  const flatTexts: string[] = [texts[0] as string]
  const flatValues: Value[] = []
  for (const [index, value] of values.entries()) {
    const after = texts[index + 1] as string
    if (isStatement(value)) {
      flatTexts[flatTexts.length - 1] += value.texts[0] as string
      flatTexts.push(...value.texts.slice(1))
      flatValues.push(...value.values)
      flatTexts[flatTexts.length - 1] += after
    } else {
      flatValues.push(value)
      flatTexts.push(after)
    }
  }
  return { [made]: true, texts: flatTexts, values: flatValues }
}

/** The values with commas between them, for `IN (…)`. The list must not be empty. */
export function list(values: readonly Value[]): Statement {
  if (values.length === 0) throw new Error('an SQL list needs at least one value')
  return { [made]: true, texts: ['', ...values.slice(1).map(() => ', '), ''], values }
}

const isStatement = (value: Value | Statement): value is Statement => typeof value === 'object' && value !== null

/** Whatever can be asked: the database itself (reads only), or a transaction (reads and writes). */
export interface Reader {
  query<R extends Row = Row>(statement: Statement): Promise<R[]>
}

export interface Transaction extends Reader {
  /** Tells the two apart for the compiler: what writes asks for a Transaction. */
  readonly writes: true
}

export interface Sql extends Reader {
  /** Reads what is committed, without waiting for a writer. A statement that writes is refused here. */
  query<R extends Row = Row>(statement: Statement): Promise<R[]>
  /**
   * Runs `work` in one serializable transaction: committed and on disk when the promise resolves, rolled back when `work`
   * throws. An adapter may run `work` again after a conflict, so it does nothing but query.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database cannot be read or written now: disk full, disk fault, locked by another process, closed. */
export class StorageUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StorageUnavailable'
  }
}
