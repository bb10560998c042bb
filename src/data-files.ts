/** What lies in the data folder, and the sockets at which processes of the service meet. */
import { join } from 'node:path'

export const filesIn = (dataDir: string) => ({
  database: join(dataDir, 'headland.db'),
  /** The database after its rows were moved to PostgreSQL. */
  movedDatabase: join(dataDir, 'headland.db.moved'),
  masterKey: join(dataDir, 'master.key'),
  routes: join(dataDir, 'routes.log'),
  certificates: join(dataDir, 'certificates.json'),
  /** Of the firewall of a node, which runs apps in a cluster. */
  nodeRules: join(dataDir, 'node-rules.json'),
  /** The ranges of ports that Docker on a node has used, the least recent first. */
  nodePorts: join(dataDir, 'node-ports.json'),
  blobs: join(dataDir, 'blobs'),
  /** Closed parts of logs that were brought back from an object store. */
  storedLogs: join(dataDir, 'stored-logs'),
  /** Copies of what is in the object store. */
  objectCache: join(dataDir, 'object-cache'),
  outputs: join(dataDir, 'outputs'),
  packages: join(dataDir, 'packages'),
  /** Downloaded packages that apps of an account share. */
  tarballs: join(dataDir, 'tarballs'),
  /** Layers of images on their way to or from a registry. */
  images: join(dataDir, 'images'),
  /** Repositories for as long as git works on them, each in a folder of its own. */
  git: join(dataDir, 'git'),
  /** Sockets by which a browser reaches the site that it takes a picture of. */
  screenshots: join(dataDir, 'screenshots'),
  logs: join(dataDir, 'logs'),
  toolchain: join(dataDir, 'toolchain'),
  ballast: join(dataDir, 'ballast'),
  /** Held by the service that runs the role. */
  lockOf: (role: string) => join(dataDir, `${role}.lock`),
  controlSocket: join(dataDir, 'control.sock'),
  agentSocket: join(dataDir, 'agent.sock'),
  /** That of the process that brings files of static sites to a machine with edges only. */
  filesSocket: join(dataDir, 'files.sock'),
  /** That of the `serve` with the control process. */
  serveSocket: join(dataDir, 'serve.sock'),
  /** That of the API, for edges that serve the portal. */
  apiSocket: join(dataDir, 'api.sock'),
  cache: join(dataDir, 'cache'),
})

export type DataFiles = ReturnType<typeof filesIn>
