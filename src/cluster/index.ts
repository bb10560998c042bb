export { type ClusterApps, type ClusterAppsParts, createClusterApps } from './cluster-apps.ts'
export { type NodeLoad, readNodeLoads } from './node-loads.ts'
