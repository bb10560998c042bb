/**
 * The account of the service at the CA. Its key is on disk before the CA knows it, so that an account whose creation was cut off is
 * found again by its key.
 */
import { type Clock, createTurns } from '../../base/index.ts'
import { type Sql, statement, type Vault } from '../../storage/index.ts'
import type { AcmeClient, Known } from '../acme/client.ts'
import { type ExternalAccount, readAccountKey } from '../acme/jws.ts'
import { newKey } from '../x509/request.ts'

type Parts = {
  sql: Sql
  clock: Clock
  vault: Vault
  client: AcmeClient
  directory: string
  email: string
  external?: ExternalAccount | undefined
}

type Row = { sealed_key: string; url: string | null; email: string }

/** A CA that refuses the account is not asked again for every name. */
const REFUSED_MS = 5 * 60_000

export function createAcmeAccounts({ sql, clock, vault, client, directory, email, external }: Parts) {
  const inTurn = createTurns()
  const place = `acmeAccounts/${directory}/key`
  let refusal: { error: unknown; time: number } | undefined

  async function read(): Promise<Row | undefined> {
    const [row] = await sql.query<Row>(
      statement`SELECT sealed_key, url, email FROM acme_accounts WHERE directory = ${directory}`,
    )
    return row
  }

  async function readOrMake(): Promise<Row> {
    const known = await read()
    if (known) return known
    const sealed = vault.seal(await newKey(), place)
    await sql.transaction((tx) =>
      tx.query(statement`INSERT INTO acme_accounts (directory, sealed_key, email)
        VALUES (${directory}, ${sealed}, ${email}) ON CONFLICT (directory) DO NOTHING`),
    )
    return (await read()) as Row
  }

  const record = (url: string | null) =>
    sql.transaction((tx) =>
      tx.query(statement`UPDATE acme_accounts SET url = ${url}, email = ${email} WHERE directory = ${directory}`),
    )

  async function register(): Promise<Known> {
    const row = await readOrMake()
    const key = readAccountKey(vault.open(row.sealed_key, place))
    if (row.url !== null) {
      if (row.email !== email) {
        await client.setContact({ key, kid: row.url }, email)
        await record(row.url)
      }
      return { key, kid: row.url }
    }
    const kid = await client.account(key, { email, external })
    await record(kid)
    return { key, kid }
  }

  return {
    /** The account, which is made at its first use. */
    known: (): Promise<Known> =>
      inTurn('account', async () => {
        if (refusal && clock.now() - refusal.time < REFUSED_MS) throw refusal.error
        try {
          const known = await register()
          refusal = undefined
          return known
        } catch (error) {
          refusal = { error, time: clock.now() }
          throw error
        }
      }),

    /** The CA does not know it any more: it is made anew, with the same key. */
    forget: () => inTurn('account', () => record(null)),

    /** What the operator asked for is tried at once. */
    retry() {
      refusal = undefined
    },
  }
}

export type AcmeAccounts = ReturnType<typeof createAcmeAccounts>
