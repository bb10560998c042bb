/** The files of a built portal, in memory: they are few and small, and a request for one should never touch the disk. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

export type Form = 'br' | 'gzip' | 'identity'

export type PortalFile = {
  type: string
  /** Its name holds a digest of its content, so it never changes. */
  isImmutable: boolean
  digest: string
  forms: Partial<Record<Form, Buffer>> & { identity: Buffer }
}

/** By path, as `/index.html` and `/assets/main-1a2b3c4d.js`. */
export type PortalFiles = ReadonlyMap<string, PortalFile>

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

const SUFFIXES = { br: '.br', gzip: '.gz' } as const

export function readPortalFiles(folder: string): PortalFiles {
  const files = new Map<string, PortalFile>()
  const contents = new Map<string, Buffer>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    contents.set(`/${relative(folder, file).replaceAll(sep, '/')}`, readFileSync(file))
  }
  for (const [path, identity] of contents) {
    if (path.endsWith(SUFFIXES.br) || path.endsWith(SUFFIXES.gzip)) continue
    const forms: PortalFile['forms'] = { identity }
    for (const form of ['br', 'gzip'] as const) {
      const content = contents.get(path + SUFFIXES[form])
      if (content && content.length < identity.length) forms[form] = content
    }
    files.set(path, {
      type: TYPES[extname(path)] ?? 'application/octet-stream',
      isImmutable: path.startsWith('/assets/'),
      digest: createHash('sha256').update(identity).digest('base64url').slice(0, 22),
      forms,
    })
  }
  if (!files.has('/index.html')) throw new Error(`${folder} holds no index.html`)
  return files
}
