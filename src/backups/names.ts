/**
 * The names that a backup may contain, and the kinds of entries under each. Pure. Links and whiteouts are only in
 * outputs and packages of apps: there a link may lead anywhere, and it is not followed when it is restored.
 */
import { type BackupEntry, broken } from './entry.ts'

type Kind = BackupEntry['kind']
type Place = { form: RegExp; kinds: readonly Kind[] }

const OUTPUT = 'outputs/[0-9a-f]{64}'
const ID = '[A-Za-z0-9_-]+'

const PLACES: readonly Place[] = [
  { form: /^(headland\.db|master\.key)$/, kinds: ['file'] },
  { form: /^(blobs|outputs|packages|logs|logs\/builds|logs\/runtime|environments)$/, kinds: ['folder'] },
  { form: /^blobs\/[0-9a-f]{2}$/, kinds: ['folder'] },
  { form: /^blobs\/[0-9a-f]{2}\/[0-9a-f]{64}$/, kinds: ['file'] },
  { form: /^logs\/(builds|runtime)\/[A-Za-z0-9_-]+(\.older|\.closed-[A-Za-z0-9_-]+)?\.log$/, kinds: ['file'] },
  { form: new RegExp(`^environments/${ID}(/values)?$`), kinds: ['folder'] },
  { form: new RegExp(`^environments/${ID}/values/[0-9a-f]{64}$`), kinds: ['file'] },
  // The parts of an output must be folders: the edge and the sandbox would follow a link in their place.
  { form: new RegExp(`^(${OUTPUT}(/(files|source|edge))?|packages/${ID})$`), kinds: ['folder'] },
  {
    form: new RegExp(`^(${OUTPUT}/(files|source|edge)|packages/${ID})/.`, 's'),
    kinds: ['file', 'folder', 'symlink', 'hardlink', 'whiteout'],
  },
]

const MAX_PATH_BYTES = 4096

/** Throws unless a backup may contain it. */
export function checkName({ path, kind, to }: Pick<BackupEntry, 'path' | 'kind' | 'to'>) {
  const named = JSON.stringify(path.slice(0, 200))
  if (path.includes('\0') || Buffer.byteLength(path) > MAX_PATH_BYTES) throw broken(`${named} is not a valid path`)
  // A leading slash gives an empty name.
  if (path.split('/').some((name) => name === '' || name === '.' || name === '..'))
    throw broken(`${named} leads elsewhere`)
  if (!PLACES.some(({ form, kinds }) => form.test(path) && kinds.includes(kind)))
    throw broken(`${named} (${kind}) has no place in a data folder`)
  if (to !== undefined && (to === '' || to.includes('\0') || Buffer.byteLength(to) > MAX_PATH_BYTES))
    throw broken(`the link ${named} leads nowhere`)
  if (kind === 'hardlink' && topOf(to ?? '') !== topOf(path))
    throw broken(`${named} is a link to a file outside its folder`)
}

/**
 * Whether it belongs to an app: the output of a build, its source, and installed packages. All else belongs to the
 * service.
 */
export const isOfTenant = (path: string): boolean => TENANTS.test(path)

const TENANTS = new RegExp(`^(${OUTPUT}/(files|source)|packages/${ID})(/|$)`)

/** Folders of the service above those of apps: they can be passed through and not listed. */
export const isPassage = (path: string): boolean => PASSAGE.test(path)

const PASSAGE = new RegExp(`^(outputs|packages|environments|${OUTPUT}|environments/${ID})$`)

/** The output or the packages that a path belongs to. */
const topOf = (path: string): string => path.split('/').slice(0, 2).join('/')

/** Whether a file at this path belongs in a backup; drafts and files that are being removed do not. */
export const isNameOf = (kind: Kind, path: string): boolean =>
  PLACES.some(({ form, kinds }) => form.test(path) && kinds.includes(kind))
