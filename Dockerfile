# Headland in a container. What it may do there, and why, is in compose.yaml and docs/operate/docker.md.

ARG NODE_IMAGE=node:24-bookworm-slim

# The package, made from this checkout as `npm pack` makes it anywhere, and installed where it will lie.
FROM ${NODE_IMAGE} AS package
WORKDIR /checkout
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# The optional dependencies are Node 24, which this image is.
RUN mkdir /package && npm pack --pack-destination /package \
  && npm install --prefix /opt/headland --omit=optional --no-audit --no-fund /package/headland-*.tgz

FROM ${NODE_IMAGE}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    bubblewrap ca-certificates git iproute2 nftables openssh-client \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
COPY --from=package /opt/headland /opt/headland

# A volume begins as this folder is.
RUN mkdir --mode=0700 /data
# headland.json is read from here, and npm's settings from .npmrc.
WORKDIR /etc/headland
ENV PATH=/opt/headland/node_modules/.bin:$PATH \
  HOME=/etc/headland \
  HEADLAND_DATA_DIR=/data \
  HEADLAND_LISTEN=0.0.0.0:8080 \
  HEADLAND_EDGE_LISTEN=0.0.0.0:8081
VOLUME /data
EXPOSE 8080 8081
# Root, since each environment's programs run as a user of their own, and nobody else can choose one.
USER root
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --start-interval=1s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["headland", "serve"]
