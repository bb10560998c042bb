#!/usr/bin/env node
// Runs the command line on Node 24 with the flags that it needs: replaces this process where Node can, else starts another.
// npm links this file, since its links for Windows start programs of Node only. `headland`, beside it, does the same from a
// shell, and also where the machine's Node is too old to replace its process.
import { spawn } from 'node:child_process'
import module from 'node:module'
import { bundled } from './bundle.js'

const require = module.createRequire(import.meta.url)
// An import of these would load what a start does not need.
const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { fileURLToPath } = require('node:url')

const OLDEST = 24
const [SELF, ARGUMENTS] = [fileURLToPath(import.meta.url), process.argv.slice(2)]
const TOP = dirname(dirname(SELF))

// A checkout runs its sources, even if `dist/` exists; a package has only `dist/`.
const IS_CHECKOUT = existsSync(join(TOP, 'src', 'command-line.ts'))
const COMPILE_CACHE = IS_CHECKOUT ? join(TOP, 'node_modules', '.cache', 'headland') : join(TOP, '.cache')

// A young generation of 2 MB instead of 16: short-lived memory of the service is freed sooner, and
// it takes 30 MB less when idle. V8 reads this only at its start.
const FLAGS = ARGUMENTS[0] === 'serve' ? ['--max-semi-space-size=2'] : []

if (Number(process.versions.node.split('.')[0]) < OLDEST) become(installedNode(), [])
else if (FLAGS.every((flag) => process.execArgv.includes(flag))) await run()
else become(process.execPath, process.execArgv)

async function run() {
  // Keeps compiled code between runs. Does without where the folder cannot be written; NODE_COMPILE_CACHE names another.
  module.enableCompileCache(COMPILE_CACHE)
  if (ARGUMENTS[0] === 'role') {
    const { runRole } = await load({ part: ARGUMENTS[1], path: 'processes/role' })
    return runRole(ARGUMENTS.slice(1))
  }
  const { run: runCommand } = await load({ part: 'command-line', path: 'command-line' })
  process.exitCode = await runCommand(ARGUMENTS)
}

function load({ part, path }) {
  const file = IS_CHECKOUT ? bundled(TOP, part) : join(TOP, 'dist', 'bundle', `${part}.cjs`)
  return file === undefined ? import(`../src/${path}.ts`) : require(file)
}

/** Replaces this process by another Node, with the same process id and the same parent. */
function become(node, flags) {
  // After -- Node reads no argument as an option of its own, such as --env-file.
  const args = [...flags, ...FLAGS, '--', SELF, ...ARGUMENTS]
  // `execve` exists since Node 22.15, and not on Windows.
  if (process.execve && process.platform !== 'win32') process.execve(node, [node, ...args], process.env)
  else stayAsParent(node, args)
}

/** Where a process cannot be replaced, it starts the other and stays as its parent. A service that loses this parent stops. */
function stayAsParent(node, args) {
  const env = { ...process.env, HEADLAND_LAUNCHER: String(process.pid) }
  const child = spawn(node, args, { stdio: 'inherit', env })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal) process.kill(process.pid, 'SIGKILL')
    process.exit(code ?? 3)
  })
}

function installedNode() {
  const name = `node-${process.platform}-${process.arch}`
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'node')
  } catch {
    const remedy = IS_CHECKOUT ? "Run 'npm ci' in its folder" : 'Install it again with its optional dependencies'
    process.stderr.write(
      `headland: this is Node ${process.versions.node}, and Headland needs Node ${OLDEST}. ${remedy}, or install Node ${OLDEST}.\n`,
    )
    process.exit(3)
  }
}
