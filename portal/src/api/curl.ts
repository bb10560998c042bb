/** The API call that the portal makes, as a curl command for a terminal. */

export type CurlCall = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** As `/v1/accounts/default/apps?appId=blog`; the address of the service is prepended. */
  path: string
  body?: unknown
  /** A file that is sent as a form: its field and its name. */
  file?: { field: string; name: string }
}

const BARE = /^[A-Za-z0-9_./:=@%+,-]+$/

/** Quotes any text as one word for a POSIX shell. */
export const quoted = (word: string): string => (BARE.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

export function curlOf({ method = 'GET', path, body, file }: CurlCall, origin: string): string {
  const parts = ['curl -u "$HEADLAND_API_USER:$HEADLAND_API_PASSWORD"']
  // With a body, curl sends a POST; any other method has to be given.
  if (method !== 'GET' && !(method === 'POST' && (file || body !== undefined))) parts.push(`-X ${method}`)
  if (body !== undefined) {
    parts.push(`-H ${quoted('Content-Type: application/json')}`)
    parts.push(`-d ${quoted(JSON.stringify(body))}`)
  }
  if (file) parts.push(`-F ${quoted(`${file.field}=@${file.name};type=application/zip`)}`)
  parts.push(quoted(`${origin}${path}`))
  return parts.join(' \\\n  ')
}
