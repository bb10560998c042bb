/** What can go wrong between the service and Docker's engine. */

/** The engine answered with an error. The message is its own. */
export class DockerRefused extends Error {
  readonly status: number
  constructor(what: string, status: number, words: string) {
    super(`Docker refused ${what} (${status}): ${words}`)
    this.name = 'DockerRefused'
    this.status = status
  }
}

/** There was no answer, or none that can be read. Whether a write was made is not known. */
export class DockerUnreachable extends Error {
  constructor(what: string, options: ErrorOptions) {
    super(`Docker cannot be reached for ${what}: ${messageOf(options.cause)}`, options)
    this.name = 'DockerUnreachable'
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

export const isMissing = (error: unknown): boolean => error instanceof DockerRefused && error.status === 404

/** A thing of this name is there already. */
export const isTaken = (error: unknown): boolean =>
  error instanceof DockerRefused && error.status === 409 && /already exists|name conflicts/i.test(error.message)

/** The object was changed by another writer since it was read. */
export const isOutOfSequence = (error: unknown): boolean =>
  error instanceof DockerRefused && /update out of sequence/i.test(error.message)

/** A secret that a service still refers to cannot be removed. */
export const isInUse = (error: unknown): boolean =>
  error instanceof DockerRefused && /is in use by/i.test(error.message)
