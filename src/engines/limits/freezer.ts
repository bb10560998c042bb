/**
 * Freezes the processes of a cgroup: they keep their memory, use no processor, and cannot tell. A process of a frozen group of
 * version 2 can be killed; one of version 1 ends when the group is thawed.
 */
import { codeOf, type Files, writeIfThere } from './files.ts'

export type Freezer = {
  /** False where the kernel refuses. A process that is inside of a system call freezes when it leaves that. */
  freeze(): boolean
  thaw(): void
}

type Switch = { file: string; frozen: string; thawed: string }

const VERSION_1: Switch = { file: 'freezer.state', frozen: 'FROZEN', thawed: 'THAWED' }
const VERSION_2: Switch = { file: 'cgroup.freeze', frozen: '1', thawed: '0' }

/** Undefined for a group that cannot be frozen: one at the top, one of another controller, one of a kernel before 5.2. */
export function freezerOf(folder: string, files: Files): Freezer | undefined {
  const found = [VERSION_2, VERSION_1].find(({ file }) => files.read(`${folder}/${file}`) !== undefined)
  if (!found) return undefined
  const path = `${folder}/${found.file}`
  return {
    freeze() {
      try {
        files.write(path, found.frozen)
        return true
      } catch (error) {
        if (!['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENODEV', 'EOPNOTSUPP'].includes(codeOf(error))) throw error
        return false
      }
    },
    // The group may be gone already.
    thaw: () => writeIfThere(files, path, found.thawed),
  }
}
