/** Which files of a folder are sent, and under which path. The service would skip the same folders; sending them is slow. */

const FOLDERS = new Set(['node_modules', '.git'])
const FILES = new Set(['.DS_Store', 'Thumbs.db'])

/** Whether a folder of this name is not even looked into. */
export const isLeftOutFolder = (name: string): boolean => FOLDERS.has(name)

/** `path` with slashes, as in `src/index.js`. */
export function isLeftOut(path: string): boolean {
  const parts = path.split('/')
  return parts.some(isLeftOutFolder) || FILES.has(parts.at(-1) ?? '')
}

/** The folder around everything, with its slash, or nothing: `app/a.js` and `app/b/c.js` have `app/` in common. */
export function commonFolder(paths: readonly string[]): string {
  const [first = ''] = paths
  const folder = first.slice(0, first.indexOf('/') + 1)
  return folder !== '' && paths.every((path) => path.startsWith(folder)) ? folder : ''
}

/** Formats that are compressed already: they are put in as they are. */
const PACKED = /\.(?:avif|br|gif|gz|jpe?g|mp[34]|ogg|png|tgz|webm|webp|woff2?|zip)$/i

export const isPacked = (path: string): boolean => PACKED.test(path)

/** Whether one dropped or chosen file is an archive, and not a file to put into one. */
export const isArchive = (name: string): boolean => /\.zip$/i.test(name)
