/** Where cgroups are mounted, and which groups the service itself is in. */
import { existsSync, readFileSync } from 'node:fs'

export type Hierarchy = {
  /** The folder of the topmost group that is visible here. */
  mount: string
  /** The folder of the service's own group. */
  own: string
}

export type Hierarchies = {
  /** Version 2: one for everything. */
  unified: Hierarchy | undefined
  /** Version 1: each controller has one, and some share theirs. */
  controllers: ReadonlyMap<string, Hierarchy>
}

export function readHierarchies(root: string): Hierarchies {
  const found = parseHierarchies(root, readOrEmpty('/proc/self/cgroup'), readOrEmpty('/proc/self/mountinfo'))
  // A container may see a group in the list that is not in its mount.
  const here = ({ mount, own }: Hierarchy): Hierarchy => ({ mount, own: existsSync(own) ? own : mount })
  return {
    unified: found.unified && here(found.unified),
    controllers: new Map([...found.controllers].map(([controller, hierarchy]) => [controller, here(hierarchy)])),
  }
}

export function parseHierarchies(root: string, cgroup: string, mountinfo: string): Hierarchies {
  const paths = new Map<string, string>()
  for (const line of cgroup.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (controllers === undefined || path === undefined) continue
    for (const controller of controllers.split(',')) paths.set(controller, path)
  }
  let unified: Hierarchy | undefined
  const controllers = new Map<string, Hierarchy>()
  for (const { top, mount, type, options } of mountinfo.split('\n').flatMap(parseMount)) {
    if (mount !== root && !mount.startsWith(`${root}/`)) continue
    if (type === 'cgroup2') unified ??= { mount, own: folderOf(mount, top, paths.get('') ?? '/') }
    if (type !== 'cgroup') continue
    for (const controller of options) {
      const path = paths.get(controller)
      if (path !== undefined && !controllers.has(controller)) {
        controllers.set(controller, { mount, own: folderOf(mount, top, path) })
      }
    }
  }
  return { unified, controllers }
}

/** `top` is the group at the mount point: in a container not always the root group. */
function folderOf(mount: string, top: string, path: string): string {
  if (path.split('/').includes('..')) return mount
  const below = top === '/' ? path : path === top || path.startsWith(`${top}/`) ? path.slice(top.length) : ''
  return below === '/' ? mount : `${mount}${below}`
}

type Mount = { top: string; mount: string; type: string; options: string[] }

function parseMount(line: string): Mount[] {
  const [place = '', what = ''] = line.split(' - ')
  const [, , , top, mount] = place.split(' ').map(unescapeOctal)
  const [type, , options] = what.split(' ')
  return top && mount && type ? [{ top, mount, type, options: (options ?? '').split(',') }] : []
}

const unescapeOctal = (text: string): string =>
  text.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Another system, or no /proc: there are no cgroups either, then.
    return ''
  }
}
