// The last step before a tenant's program: asks by descriptor 3 what to run, and turns into it. In a sandbox it is run by
// the tenant's user; without one it becomes that user first. Plain JavaScript without imports of ours, since it is all that is
// mounted.
import { accessSync, closeSync, constants, readdirSync, readFileSync, writeSync } from 'node:fs'

// Without a service that still lives there is no answer, and nothing to run.
writeSync(3, '?')
const { argv, environment, cwd, user } = JSON.parse(readFileSync(3, 'utf8'))
process.umask(0o022)
closeInherited()
if (user) {
  process.setgroups([])
  process.setgid(user.gid)
  process.setuid(user.uid)
}
// Only now: the folder is the tenant's, and may be a link.
enter(cwd)
const program = find(argv[0])
if (!program) {
  process.stderr.write(`${argv[0]}: not found\n`)
  process.exit(127)
}
process.execve(program, argv, environment)

// Node closes the first few descriptors of its own for its children. One further up that whoever started the service left
// open would reach the tenant.
function closeInherited() {
  const isKept = (flags) => (flags & 0o2000000) !== 0
  for (const name of readdirSync('/proc/self/fd')) {
    if (Number(name) <= 2) continue
    try {
      const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1]
      // What is closed by the next step anyway is Node's own, and still needed until then.
      if (flags !== undefined && !isKept(Number.parseInt(flags, 8))) closeSync(Number(name))
    } catch (error) {
      // The one that the list itself was read through is gone.
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
