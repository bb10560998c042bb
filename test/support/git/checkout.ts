/** A folder with a git repository, as a developer has it, and the real git to work with it. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Login, TestService } from '../service/service.ts'

export type Ran = { code: number; text: string; stdout: string }

/** The machine's own settings are not used. */
const ENVIRONMENT = {
  PATH: '/usr/bin:/bin',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada Lovelace',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada Lovelace',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
}

export function runGit(folder: string, args: readonly string[], input?: string | Buffer): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      'git',
      ['-c', 'init.defaultBranch=main', '-c', 'advice.detachedHead=false', ...args],
      { cwd: folder, env: ENVIRONMENT, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = error ? Number((error as { code?: number }).code ?? 1) : 0
        resolve({ code, text: `${stdout}${stderr}`, stdout: stdout.trim() })
      },
    )
    // A command that ends early does not read the rest.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}

export const remoteUrl = (service: Pick<TestService, 'api'>, as: Login | undefined, path: string): string => {
  const url = new URL(`${service.api}/git/${path}.git`)
  if (as) [url.username, url.password] = [as.userId, as.password]
  return url.href
}

export async function openCheckout(folder: string, url?: string) {
  await mkdir(folder, { recursive: true })
  const git = async (...args: string[]): Promise<string> => {
    const ran = await runGit(folder, args)
    if (ran.code !== 0) throw new Error(`git ${args.join(' ')}: ${ran.text}`)
    return ran.stdout
  }
  await git('init', '-q')
  if (url !== undefined) await git('remote', 'add', 'origin', url)
  return {
    folder,
    git,
    try: (...args: string[]) => runGit(folder, args),
    async commit(files: Record<string, string>, message: string): Promise<string> {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), text)
      }
      await git('add', '-A')
      await git('commit', '-q', '--allow-empty', '-m', message)
      return git('rev-parse', 'HEAD')
    },
  }
}
