/** A notice as people read it, before it is written for one of the receivers. Its title and text may come from a tenant. */
import type { resources } from '../../contract/index.ts'

export type Message = {
  /** Of the delivery: the same at every try. */
  id: string
  kind: resources.DeliveredKind
  account: string
  app: string | null
  environment: string | null
  resource: string
  title: string
  text: string
  /** Whole, with `http:` or `https:`. */
  link: string | null
  /** When it happened. */
  time: number
}

export type Weight = 'BAD' | 'WARNING' | 'GOOD' | 'PLAIN'

export const WEIGHTS: Record<resources.DeliveredKind, Weight> = {
  BUILD_FAILED: 'BAD',
  BUILD_RECOVERED: 'GOOD',
  BUILD_LIVE: 'GOOD',
  APP_CRASH_LOOP: 'BAD',
  CERTIFICATE_FAILING: 'BAD',
  DISK_NEARLY_FULL: 'WARNING',
  QUOTA_NEARLY_FULL: 'WARNING',
  PUBLISH_LATE: 'WARNING',
  TEST: 'PLAIN',
}

/** Writes a text character by character, as far as it fits. */
export function writeWithin(text: string, maxLength: number, write: (character: string) => string): string {
  let written = ''
  for (const character of text) {
    const next = write(character)
    if (written.length + next.length > maxLength - 1) return `${written}…`
    written += next
  }
  return written
}

/** Undefined for what is no link: it would make a receiver refuse the message, or be run when it is followed. */
export function wholeLink(link: string | null, publicUrl: string): string | null {
  if (link === null) return null
  const base = URL.canParse(publicUrl) ? publicUrl : undefined
  if (!URL.canParse(link, base)) return null
  const { protocol, href } = new URL(link, base)
  return /^https?:$/.test(protocol) ? href : null
}
