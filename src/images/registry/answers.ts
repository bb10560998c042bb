/** What the calls of a registry have in common. */
import { createHash } from 'node:crypto'
import type { Digest } from '../../storage/index.ts'
import { jsonOf } from './authorize.ts'
import { RegistryRefused } from './problem.ts'
import type { Retrying } from './retry.ts'
import type { Answer, Ask } from './transport.ts'

export type Waiting = {
  signal?: AbortSignal | undefined
  onWait?: Retrying['onWait']
  /** Where it is not that of the client. */
  timeoutMs?: number
}

/** One call, and how it is repeated. */
export type Calls = {
  at(repository: string, path: string): URL
  /** Rejects where another attempt may help; every other status is the caller's to judge. */
  ask(repository: string, given: Ask): Promise<Answer>
  retried<T>(attempt: () => Promise<T>, waiting: Waiting): Promise<T>
}

export const digestOf = (bytes: Buffer): Digest => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

export function expect(answer: Answer, statuses: readonly number[], what: string) {
  if (statuses.includes(answer.status)) return
  throw new RegistryRefused(
    `${answer.url.host} answered ${answer.status} to ${what}${reasonIn(answer)}.`,
    answer.status,
  )
}

/** The code of an error of a registry: a word in capital letters. Its text may hold anything. */
export function reasonIn({ body }: Answer): string {
  const { errors } = jsonOf(body)
  const code: unknown = Array.isArray(errors) ? errors[0]?.code : undefined
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : ''
}
