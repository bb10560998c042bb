/**
 * What is answered before a request is led to a site: a challenge of a CA, the portal, and plain HTTP where the site has a
 * certificate.
 */
import type { Forwarded } from '../http/forwarded.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { SecureFront } from '../tls/front.ts'
import { createPortal, type PortalSettings } from './portal.ts'

type Parts = {
  secure: SecureFront
  forwarded: Forwarded
  portal: PortalSettings | undefined
  /** Whether a site has this host. */
  hasSite(host: string): boolean
}

/** A caller of a webhook may not follow a redirect, or turn its POST into a GET. */
const WEBHOOKS = '/wh/'

export function createFrontDoor({ secure, forwarded, portal: settings, hasSite }: Parts) {
  const portal = settings && createPortal(settings, forwarded)

  return {
    /** Whether the request was answered here. */
    answer(visit: Visit): boolean {
      if (secure.answerChallenge(visit)) return true
      const isPlain = forwarded.visitorOf(visit.request).protocol === 'http'
      const called = portal?.isAt(visit.host) && !hasSite(visit.host) ? portal : undefined
      if (called && (!isPlain || visit.path.startsWith(WEBHOOKS))) called.forward(visit)
      else if (isPlain && secure.isElsewhere(visit.host)) secure.sendToHttps(visit)
      // No password is sent in plain text.
      else if (called) sendPage(visit.response, PAGES.notSecure)
      else return false
      return true
    },

    close: () => portal?.close(),
  }
}
