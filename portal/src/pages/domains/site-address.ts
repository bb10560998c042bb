/** Where a site answers under another of its names: the same scheme and port, as one edge answers for all of them. */
export function siteAt(url: string, host: string): string {
  if (!URL.canParse(url)) return `http://${host}`
  const address = new URL(url)
  address.hostname = host
  return address.href.replace(/\/$/, '')
}

/** Whether names under this one lead to the machine that looks them up, and so tell nothing to others. */
export const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

/**
 * What somebody pasted, without what an address has around its host. What is left is for the service to judge: it knows
 * which names there can be, and keeps them in ASCII.
 */
export const hostIn = (text: string): string =>
  text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '')
