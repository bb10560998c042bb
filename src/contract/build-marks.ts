/**
 * Lines of a build's log that begin a step that is no phase of the API. The service writes them, and no build can: their stream
 * is `service`.
 */

/** The pages of a new version are asked for before it goes live. */
export const checkingText = (pages: number, compared: string): string =>
  `${CHECKING}${pages} ${pages === 1 ? 'page' : 'pages'} ${compared}.`

export const beginsChecking = ({ stream, phase, text }: { stream: string; phase: string; text: string }): boolean =>
  stream === 'service' && phase === 'STARTING' && text.startsWith(CHECKING)

const CHECKING = 'Checking '
