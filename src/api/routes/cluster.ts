import { resources } from '../../contract/index.ts'
import { type Route, route } from '../route.ts'

type Parts = { readCluster(): Promise<resources.Cluster> }

export const clusterRoutes = ({ readCluster }: Parts): Route[] => [
  route({
    method: 'GET',
    path: '/v1/cluster',
    tag: 'Installation',
    summary: 'Show the processes and machines of the installation, and what is wrong with them, to its operators',
    access: 'operator',
    reply: resources.cluster,
    problems: ['ROUTE_NOT_FOUND'],
    handle: () => readCluster(),
  }),
]
