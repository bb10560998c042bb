/**
 * The database as the other modules see it. SQL is written in the subset that SQLite and PostgreSQL share: types TEXT and
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
  const inner = values.map((value) => (isStatement(value) ? value.texts : null))
  const flatValues = values.flatMap((value) => (isStatement(value) ? value.values : [value]))
  return { [made]: true, texts: spliced(texts, inner), values: flatValues }
}

/** The last result for each call site: the same parts give the same array, which adapters use as a cache key. */
const splicings = new WeakMap<TemplateStringsArray, { inner: (readonly string[] | null)[]; texts: readonly string[] }>()

function spliced(outer: TemplateStringsArray, inner: (readonly string[] | null)[]): readonly string[] {
  const last = splicings.get(outer)
  if (last?.inner.every((texts, index) => texts === inner[index])) return last.texts
  const texts: string[] = [outer[0] as string]
  for (const [index, innerTexts] of inner.entries()) {
    const after = outer[index + 1] as string
    if (innerTexts === null) texts.push(after)
    else {
      texts[texts.length - 1] += innerTexts[0] as string
      texts.push(...innerTexts.slice(1))
      texts[texts.length - 1] += after
    }
  }
  splicings.set(outer, { inner, texts })
  return texts
}

/** The values with commas between them, for `IN (…)`. The list must not be empty. */
export function list(values: readonly Value[]): Statement {
  if (values.length === 0) throw new Error('an SQL list needs at least one value')
  return { [made]: true, texts: ['', ...values.slice(1).map(() => ', '), ''], values }
}

/** The name of a table or a column that is known only at run time. */
export function identifier(name: string): Statement {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`${JSON.stringify(name)} is no name of a table or a column`)
  return { [made]: true, texts: [`"${name}"`], values: [] }
}

/** Statements with commas between them. The list must not be empty. */
export function joined(parts: readonly Statement[]): Statement {
  return parts.reduce((before, after) => statement`${before}, ${after}`)
}

/** Rows for `VALUES …`, all of the same length. The list must not be empty. */
export function rows(values: readonly (readonly Value[])[]): Statement {
  const [first] = values
  if (!first) throw new Error('VALUES needs at least one row')
  return { [made]: true, texts: textsOfRows(values.length, first.length), values: values.flat() }
}

/** One array for each size, always the same: see above. */
const rowTexts = new Map<string, readonly string[]>()

function textsOfRows(count: number, width: number): readonly string[] {
  const size = `${count} ${width}`
  let texts = rowTexts.get(size)
  if (!texts) {
    const between = Array.from({ length: count * width - 1 }, (_, index) => ((index + 1) % width === 0 ? '), (' : ', '))
    texts = ['(', ...between, ')']
    rowTexts.set(size, texts)
  }
  return texts
}

const isStatement = (value: Value | Statement): value is Statement => typeof value === 'object' && value !== null

/** A source of queries: the database itself (reads only), or a transaction (reads and writes). */
export interface Reader {
  query<R extends Row = Row>(statement: Statement): Promise<R[]>
}

export interface Transaction extends Reader {
  /** Distinguishes the two for the compiler: functions that write take a Transaction. */
  readonly writes: true
  /**
   * Once this is committed, and only then, followers of the account are notified that something in it has changed. The
   * name is the part below `accounts/{account}/`. (As NOTIFY of PostgreSQL: a transaction that is rolled back notifies
   * no follower.) The audit log takes from it what a request has changed, in the same transaction: so every transaction
   * that changes something of an account notifies, and one that changes nothing does not.
   */
  notify(accountId: string, name: string, about?: ChangeAbout): void
}

/** What the audit log shows of a change beside its name. Never a value: those may be secrets. */
export type ChangeAbout = {
  /** What people call the resource: the display name of an environment, the e-mail address of a user. */
  title?: string
  /** Names of what was set or removed in it. */
  fields?: readonly string[]
}

export type TransactionOptions = {
  /**
   * Transactions with the same word run one at a time, in all processes. A database whose transactions never overlap ignores
   * it; in others it saves the many repetitions of transactions that always conflict.
   */
  exclusive?: 'claim' | 'migration' | 'purge' | 'apps'
  /** A single statement may take minutes. */
  isLong?: boolean
}

export interface Sql extends Reader {
  /** Reads what is committed, without waiting for a writer. A statement that writes is refused here. */
  query<R extends Row = Row>(statement: Statement): Promise<R[]>
  /**
   * Runs `work` in one serializable transaction: committed and on disk when the promise resolves, rolled back when `work`
   * throws. An adapter may run `work` again after a conflict, so it does nothing but query.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  close(): Promise<void>
}

/** The database cannot be read or written now: disk full, disk fault, locked by another process, closed. */
export class StorageUnavailable extends Error {
  /** Whether a store did not answer that may answer again by itself. */
  readonly isPassing: boolean = false

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StorageUnavailable'
  }
}

/** The connection to the database is lost. It is made again without end, so work that is repeated later succeeds. */
export class DatabaseAway extends StorageUnavailable {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseAway'
  }
}
