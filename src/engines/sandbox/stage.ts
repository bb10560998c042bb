/**
 * The stage: everything of this machine that a job will see, mounted before its sandbox is made, in a mount namespace of the
 * job's own. It vanishes with the job's last process, however that ends, so there is never a mount to clean up.
 *
 * Writable folders of an app are mounted over its tree here, and never through a link. So the sandbox itself mounts only at
 * places that the service chose: no tree of a tenant decides where a mount lands. Staged folders have short meaningless names,
 * which are all that a job sees of the machine's paths; and the tenant's user reaches them without access to the data folder.
 */
import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Mount, Overlay } from '../engine.ts'
import { checkInner } from '../paths.ts'

/** A folder that every machine has and no sandbox shows: in the job's mount namespace the stage is mounted over it. */
const STAGE = '/sys'
const UNSHARE = '/usr/bin/unshare'
export const SETPRIV = '/usr/bin/setpriv'

/**
 * Performs the steps up to the dashes, and execs the command after them. All values are arguments, never part of this text.
 *
 * `inner` mounts a folder over one in a staged tree. It changes directory step by step, and no step may be a link; `pwd -P` then
 * confirms where it is, and the mount is made on that very folder. The tree is read-only, and no process writes to its folders
 * any more. A folder that does not exist yet begins as a copy of what it covers, and belongs to the user of the job: what it
 * covers may have been built for another one. Where the tree has no such folder, nothing is done.
 */
const SET_UP = `
bind() { if [ -d "$1" ]; then mkdir "$2"; else : > "$2"; fi && mount -o "$3" "$1" "$2"; }
own() { [ -z "$2" ] || [ "$(stat -c %u "$1")" = "$2" ] || chown -hR "$2:$2" "$1"; }
inner() (
  cd -P "$2" || exit
  top=$(pwd -P)
  set -f; IFS=/
  for step in $3; do
    [ ! -L "./$step" ] && [ -d "./$step" ] && cd -P "./$step" || exit 0
  done
  [ "$(pwd -P)" = "$top/$3" ] || exit 0
  [ -d "$1" ] || { rm -rf "$1.new" && cp -aT --reflink=auto . "$1.new" && own "$1.new" "$4" && mv -T "$1.new" "$1"; } || exit
  mount --no-canonicalize --bind "$1" .
)
mount -t tmpfs -o mode=0755,nosuid,nodev headland "$1" && cd "$1" || exit 125
shift
while [ "$1" != -- ]; do
  case $1 in
    name) ln -s "$2" "$3" && shift 3 ;;
    copy) cp "$2" "$3" && chmod 0444 "$3" && shift 3 ;;
    overlay) mkdir "$3" && mount -t overlay -o "$2" overlay "$3" && shift 3 ;;
    bind) bind "$2" "$3" "$4" && shift 4 ;;
    inner) inner "$2" "$3" "$4" "$5" && shift 5 ;;
    proc) mount -t proc proc /proc && shift ;;
    *) false ;;
  esac || exit 125
done
shift
cd / && exec "$@"
`

type Given = {
  mounts: readonly Mount[]
  overlays?: readonly Overlay[]
  /** Files that are copied, so that every user can read them. */
  copies?: readonly { from: string; to: string }[]
  isRoot: boolean
}

export type Stage = {
  /** The command that sets up the stage and then execs the given one. */
  around(command: readonly string[]): string[]
  /** The same mounts and copies, from where they are staged. */
  mounts: readonly Mount[]
}

/** A pure function: nothing is mounted here. */
export function stageFor({ mounts, overlays = [], copies = [], isRoot }: Given): Stage {
  const steps: string[] = []
  let count = 0
  const newName = () => `${count++}`
  const named = (path: string): string => {
    const name = newName()
    steps.push('name', path, name)
    return name
  }

  // Bubblewrap can mount /proc in a user namespace only where a complete one is visible. In containers and services parts of it
  // are often covered.
  if (isRoot) steps.push('proc')
  const laid = new Map<string, string>()
  for (const { at, layers, changes } of overlays) {
    // The kernel shows these options inside: they name links of the stage, so that the machine's paths stay hidden.
    const options = [
      `lowerdir=${layers.map(named).join(':')}`,
      ...(changes ? [`upperdir=${named(changes.folder)}`, `workdir=${named(changes.scratch)}`] : []),
      // Only root may use trusted.* attributes.
      ...(isRoot ? [] : ['userxattr']),
    ]
    const name = newName()
    steps.push('overlay', options.join(','), name)
    laid.set(at, name)
  }
  const staged = mounts.map(({ from, to, isWritable, inner = [] }): Mount => {
    const name = laid.get(from) ?? newName()
    if (!laid.has(from)) steps.push('bind', from, name, inner.length > 0 ? 'bind,ro' : 'bind')
    for (const { path, from: own, uid } of inner)
      steps.push('inner', own, name, checkInner(path, 'a writable folder'), isRoot && uid !== undefined ? `${uid}` : '')
    // The tree around the inner folders is read-only already; a read-only bind would make the inner folders read-only, too.
    return { from: `${STAGE}/${name}`, to, isWritable: isWritable || inner.length > 0 }
  })
  const copied = copies.map(({ from, to }): Mount => {
    const name = newName()
    steps.push('copy', from, name)
    return { from: `${STAGE}/${name}`, to, isWritable: false }
  })
  // Without root it takes a user namespace to mount at all. Bubblewrap makes another one inside of it.
  const user = isRoot ? [] : ['--user', '--map-root-user']
  return {
    around(command) {
      const inside = ['/bin/sh', '-c', SET_UP, 'sh', STAGE, ...steps, '--', ...command]
      const set = [UNSHARE, ...user, '--mount', '--', ...inside]
      return isRoot ? untilItEnds(set) : set
    },
    mounts: [...staged, ...copied],
  }
}

/**
 * A command that is killed when the service ends, even if that has ended already. Bubblewrap sets this for itself, but too late
 * where the service dies while a sandbox is made.
 */
export function untilItEnds(command: readonly string[]): string[] {
  const check = ['/bin/sh', '-c', 'test "$PPID" = "$0" && exec "$@"', String(process.pid)]
  return [SETPRIV, '--pdeathsig', 'KILL', '--', ...check, ...command]
}

/** Makes the inner folders that do not exist yet, and leaves out those that the tree has no folder for. */
export async function fillInner(given: Given): Promise<readonly Mount[]> {
  const isMissing = (await Promise.all(given.mounts.flatMap(({ inner = [] }) => inner.map(isThere)))).includes(false)
  if (isMissing) {
    const [file = '', ...args] = stageFor(given).around(['/bin/true'])
    await promisify(execFile)(file, args, { env: {} }).catch(({ stderr, message }) => {
      throw new Error(`a folder that an app may write to could not be made: ${(stderr || message).trim()}`)
    })
  }
  return Promise.all(
    given.mounts.map(async (mount) => {
      if (!mount.inner) return mount
      const found = await Promise.all(mount.inner.map(isThere))
      return { ...mount, inner: mount.inner.filter((_, index) => found[index]) }
    }),
  )
}

const isThere = ({ from }: { from: string }): Promise<boolean> =>
  access(from).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
