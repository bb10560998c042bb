/** The address of a site under another of its names: the same scheme and port, since one edge serves all of them. */
export function siteAt(url: string, host: string): string {
  if (!URL.canParse(url)) return `http://${host}`
  const address = new URL(url)
  address.hostname = host
  return address.href.replace(/\/$/, '')
}

/** Whether names under this one resolve to the visitor's own machine. */
export const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

/** Extracts the host from a pasted address. The service validates it and converts it to ASCII. */
export const hostIn = (text: string): string =>
  text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '')
