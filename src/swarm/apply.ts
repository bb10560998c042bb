/** Makes the changes of a plan. Each of them may have been made already, by this process or by one that died. */
import type { DesiredApp } from './desired.ts'
import type { Docker } from './docker/client.ts'
import { isInUse, isMissing, isTaken } from './docker/failure.ts'
import type { Labels, Service, ServiceSpec, SwarmSecret } from './docker/types.ts'
import { LABELS, labelsOf, secretName } from './names.ts'
import type { Change } from './plan.ts'
import { variableParts } from './service/launch.ts'
import { specOf } from './service/spec.ts'

export type WritingDocker = Pick<
  Docker,
  'services' | 'secrets' | 'createSecret' | 'removeSecret' | 'createService' | 'changeService' | 'removeService'
>

type Parts = {
  docker: WritingDocker
  cluster: string
  /** Read when they are needed, and kept nowhere. */
  variables(app: DesiredApp): Promise<Readonly<Record<string, string>>>
  /** Asked before each write. */
  mayWrite(): Promise<boolean>
}

/** Another process does the work now. */
export class WriteFenced extends Error {
  constructor() {
    super('this process may not change the swarm any more')
    this.name = 'WriteFenced'
  }
}

export function createApply({ docker, cluster, variables, mayWrite }: Parts) {
  async function write<T>(make: () => Promise<T>): Promise<T> {
    if (!(await mayWrite())) throw new WriteFenced()
    return make()
  }

  const change = (service: string, to: (service: Service) => ServiceSpec | undefined) =>
    docker.changeService(service, async (found) => {
      const spec = to(found)
      return spec && write(async () => spec)
    })

  async function secretsFor(app: DesiredApp, known: readonly SwarmSecret[]) {
    const texts = variableParts(await variables(app))
    const references: { id: string; name: string }[] = []
    for (const [part, text] of texts.entries()) {
      const name = secretName(cluster, app, part)
      const id = known.find(({ Spec }) => Spec.Name === name)?.ID ?? (await makeSecret(app, name, text))
      references.push({ id, name })
    }
    return references
  }

  async function makeSecret(app: DesiredApp, name: string, text: Buffer): Promise<string> {
    try {
      return (await write(() => docker.createSecret(name, labelsOf(cluster, app), text))).ID
    } catch (error) {
      if (!isTaken(error)) throw error
      const found = (await docker.secrets({ name: [name] })).find(({ Spec }) => Spec.Name === name)
      if (!found || !isOurs(found.Spec.Labels, app)) throw error
      return found.ID
    }
  }

  async function makeService(app: DesiredApp, spec: ServiceSpec): Promise<void> {
    try {
      await write(() => docker.createService(spec))
    } catch (error) {
      if (!isTaken(error)) throw error
      const found = (await docker.services({ name: [spec.Name] })).find(({ Spec }) => Spec.Name === spec.Name)
      if (!found || !isOurs(found.Spec.Labels, app)) throw error
    }
  }

  /** A name may be taken by another process that did the same before, or by a stranger. */
  const isOurs = (labels: Labels = {}, app: DesiredApp): boolean =>
    Object.entries(labelsOf(cluster, app)).every(([name, value]) => labels[name] === value)

  return async function apply(made: Change): Promise<void> {
    switch (made.kind) {
      case 'create': {
        const spec = specOf(made.app, { cluster, secrets: await secretsFor(made.app, made.secrets) })
        await makeService(made.app, spec)
        return
      }
      case 'replace': {
        const spec = specOf(made.app, { cluster, secrets: await secretsFor(made.app, made.secrets) })
        await change(made.service, ({ Spec: before }) => ({
          ...spec,
          TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: before.TaskTemplate.ForceUpdate ?? 0 },
        })).catch(unless(isMissing))
        return
      }
      case 'scale':
        await change(made.service, ({ Spec: spec }) =>
          spec.Mode.Replicated?.Replicas === made.replicas
            ? undefined
            : { ...spec, Mode: { Replicated: { Replicas: made.replicas } } },
        ).catch(unless(isMissing))
        return
      case 'retry':
        await change(made.service, ({ Spec: spec }) => ({
          ...spec,
          Labels: { ...spec.Labels, [LABELS.retries]: String(made.retries) },
          TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: (spec.TaskTemplate.ForceUpdate ?? 0) + 1 },
        })).catch(unless(isMissing))
        return
      case 'remove':
        await write(() => docker.removeService(made.service)).catch(unless(isMissing))
        return
      case 'removeSecret':
        // Where a service has just begun to use it again, the next round decides.
        await write(() => docker.removeSecret(made.secret)).catch(unless(isMissing, isInUse))
        return
    }
  }
}

const unless =
  (...kinds: ((error: unknown) => boolean)[]) =>
  (error: unknown): undefined => {
    if (!kinds.some((isKind) => isKind(error))) throw error
  }
