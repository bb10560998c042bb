/**
 * Signs a file with a key of SSH, beside it in `.sig`. The signature is then checked as those who download it check it, so a key
 * that they do not know is told here and not by them.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'

/** The file of the keys that may sign releases, in the form of `ssh-keygen`. Its commit says who let a key in, and when. */
export const SIGNERS = 'release-signers'

/** A signature for one purpose is none for another, such as a commit. */
const NAMESPACE = 'headland-release'
const SIGNER = 'headland'

export function sign({ file, key, signers }: { file: string; key: string; signers: string }): void {
  // It asks for the passphrase of the key, if there is one.
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', key, '-n', NAMESPACE, file], { stdio: 'inherit' })
  const args = ['-q', '-Y', 'verify', '-f', signers, '-I', SIGNER, '-n', NAMESPACE, '-s', `${file}.sig`]
  try {
    execFileSync('ssh-keygen', args, { input: readFileSync(file), stdio: 'pipe' })
  } catch {
    rmSync(`${file}.sig`, { force: true })
    const known = `${SIGNER} namespaces="${NAMESPACE}" ${publicKeyOf(key)}`
    throw new Error(`${SIGNERS} does not name this key in the commit. Add this line and commit it:\n${known}`)
  }
}

/** A key of an agent is named by its public half. */
function publicKeyOf(key: string): string {
  const text = readFileSync(key.endsWith('.pub') ? key : `${key}.pub`, 'utf8')
  return text.trim().split(' ').slice(0, 2).join(' ')
}
