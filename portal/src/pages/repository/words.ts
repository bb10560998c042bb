/** Providers in words, and where a webhook is added at each of them. */
import type { Repository, RepositoryProvider } from '../../api/types.ts'

export const PROVIDERS: Record<RepositoryProvider, string> = {
  GITHUB: 'GitHub',
  GITLAB: 'GitLab',
  GITEA: 'Gitea or Forgejo',
  BITBUCKET: 'Bitbucket',
}

export const providerInWords = ({ provider }: Pick<Repository, 'provider'>): string =>
  provider ? PROVIDERS[provider] : 'Another git server'

/** What to choose on the page of the provider. */
export const HOOK_STEPS: Record<RepositoryProvider, string> = {
  GITHUB:
    'Settings → Webhooks → Add webhook: the payload URL and the secret, content type application/json, the events Pushes and, for previews, Pull requests.',
  GITLAB:
    'Settings → Webhooks → Add new webhook: the URL, the secret as the secret token, push events and, for previews, merge request events.',
  GITEA:
    'Settings → Webhooks → Add webhook: the target URL and the secret, content type application/json, the events Push and, for previews, Pull Request.',
  BITBUCKET:
    'Repository settings → Webhooks → Add webhook: the URL and the secret, the triggers Repository push and, for previews, Pull request merged and declined.',
}

export const pollingInWords = (minutes: number | null): string => {
  if (minutes === null) return 'Off'
  return minutes === 1 ? 'Every minute' : `Every ${minutes} minutes`
}

const POLLING = ['', '1', '5', '15', '60']

/** `current` may be another one, which was set with the API. */
export const pollingOptions = (current = ''): { value: string; text: string }[] =>
  [...new Set([...POLLING, current])].map((value) => ({
    value,
    text: value === '' ? 'When the provider calls' : pollingInWords(Number(value)),
  }))
