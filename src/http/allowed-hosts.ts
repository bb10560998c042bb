/** Other hosts that requests may be sent to, by a setting of the operator. */

/** `api.example.com`, `*.example.com` for all names below it, each with `:port` where it is not the usual one. */
export type AllowedHosts = readonly string[]

/** `origin` is normalized: `https://api.example.com`. */
export function isAllowedHost(allowed: AllowedHosts, origin: string): boolean {
  const { host, hostname, port } = new URL(origin)
  return allowed.some((entry) => {
    if (!entry.startsWith('*.')) return entry === host
    const [name = '', ownPort = ''] = entry.slice(1).split(':')
    return ownPort === port && hostname.endsWith(name) && hostname.length > name.length
  })
}
