/** What can go wrong with a registry. Messages have no credentials, and nothing of a registry's answer but its short reason. */

/** It did not answer, or answered that it cannot at the moment: another attempt may succeed. */
export class RegistryUnreachable extends Error {
  /** When it wants to be asked again. */
  readonly retryAfterMs: number | undefined
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.name = 'RegistryUnreachable'
    this.retryAfterMs = options.retryAfterMs
  }
}

/** It answered, and will answer the same to the next attempt. */
export class RegistryRefused extends Error {
  readonly status: number
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RegistryRefused'
    this.status = status
  }
}

/** What it sent is not what was asked for by its digest. */
export class DigestMismatch extends Error {
  constructor(what: string) {
    super(`The registry sent other bytes than those of ${what}.`)
    this.name = 'DigestMismatch'
  }
}
