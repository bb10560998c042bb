// The last step before a tenant's program: asks through descriptor 3 what to run, and execs it. In a sandbox it already runs as
// the tenant's user; without one it becomes that user first. Plain JavaScript that imports no other file of the service, since
// it is the only one that is mounted.
import { accessSync, closeSync, constants, readdirSync, readFileSync, writeSync } from 'node:fs'

// Where the service has died there is no answer, and nothing is run.
writeSync(3, '?')
const { argv, environment, cwd, user } = JSON.parse(readFileSync(3, 'utf8'))
process.umask(0o022)
closeInherited()
if (user) {
  process.setgroups([])
  process.setgid(user.gid)
  process.setuid(user.uid)
}
// Only as the tenant's user: the folder belongs to the tenant, and may be a link.
enter(cwd)
const program = find(argv[0])
if (!program) {
  process.stderr.write(`${argv[0]}: not found\n`)
  process.exit(127)
}
process.execve(program, argv, environment)

// Node closes only the first few descriptors for its children. A higher one that the service inherited from its parent would
// reach the tenant.
function closeInherited() {
  const isKept = (flags) => (flags & 0o2000000) !== 0
  for (const name of readdirSync('/proc/self/fd')) {
    if (Number(name) <= 2) continue
    try {
      const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1]
      // A descriptor with close-on-exec is Node's own, and is still needed until the exec.
      if (flags !== undefined && !isKept(Number.parseInt(flags, 8))) closeSync(Number(name))
    } catch (error) {
      // The descriptor through which the list itself was read is closed already.
      if (error.code !== 'ENOENT' && error.code !== 'EBADF') throw error
    }
  }
}

function enter(folder) {
  try {
    process.chdir(folder)
  } catch (error) {
    process.stderr.write(`${folder}: cannot be entered (${error.code})\n`)
    process.exit(127)
  }
}

function find(name) {
  const candidates = name.includes('/')
    ? [name]
    : (environment.PATH ?? '').split(':').map((folder) => `${folder}/${name}`)
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
