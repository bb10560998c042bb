/**
 * In place of an adapter for another host, whose options mean nothing here. Like most of those, and other than the adapter
 * for Node itself, it makes no server for an app that has nothing to render on request.
 */
import node from '@astrojs/node'

export default function adapter() {
  const { hooks, ...integration } = node({ mode: 'standalone' })
  // Before Astro 5 it is the app that says so.
  const isFiles = ({ buildOutput, config }) => (buildOutput ?? config.output) === 'static'
  let hasServer = false
  return {
    ...integration,
    hooks: {
      ...hooks,
      'astro:config:setup': (given) =>
        hooks['astro:config:setup']?.({
          ...given,
          // Redirects are left to a server, once it is known that there is one.
          updateConfig: ({ build, ...config }) => given.updateConfig(config),
        }),
      'astro:config:done': (given) => {
        hasServer = !isFiles(given)
        if (!hasServer) return
        given.config.build.redirects = false
        return hooks['astro:config:done'](given)
      },
      'astro:build:done': (given) => (hasServer ? hooks['astro:build:done']?.(given) : undefined),
    },
  }
}
