/**
 * Addresses on the site. The pages know each other by the addresses at which the service has them (`/docs/guides/deploy`);
 * here each is a folder with an `index.html`, and links are relative, so a site works under any path of any host.
 */
import { BASE } from '../src/api/docs/manual/pages.ts'

/** The folder of a page: `guides/deploy/`, or nothing for the first page. */
export const folderOf = (address: string): string => {
  const path = address.slice(BASE.length + 1)
  return path === '' ? '' : `${path}/`
}

/** From the folder of a page to the top of its site. */
export const topFrom = (folder: string): string => '../'.repeat(folder.split('/').length - 1) || './'

/** A link from a page in `folder`, to a page, a heading of one, or a file; others stay as they are. */
export function linkFrom(folder: string, target: string): string {
  if (target !== BASE && !target.startsWith(`${BASE}/`)) return target
  const [address = '', anchor] = target.split('#', 2)
  const isFile = /\.\w+$/.test(address)
  const path = isFile ? address.slice(BASE.length + 1) : folderOf(address)
  const way = path === folder ? '' : '../'.repeat(folder.split('/').length - 1) + path
  return (anchor === undefined ? way : `${way}#${anchor}`) || './'
}
