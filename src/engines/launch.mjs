// The last step before a tenant's program, inside its sandbox: reads what to run from descriptor 3, becomes the tenant's
// user, and turns into the program. Plain JavaScript without imports of ours, since it is all that is mounted.
import { accessSync, constants, readFileSync } from 'node:fs'

const { argv, environment, user } = JSON.parse(readFileSync(3, 'utf8'))
process.umask(0o022)
if (user) {
  process.setgroups([])
  process.setgid(user.gid)
  process.setuid(user.uid)
}
const program = find(argv[0])
if (!program) {
  process.stderr.write(`${argv[0]}: not found\n`)
  process.exit(127)
}
process.execve(program, argv, environment)

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
