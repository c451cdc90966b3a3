# Every role of the service in one image; which one runs is said by the command. Without a command it
# brings up everything, the embedded stores included, on the volume /data.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY bin bin
RUN npm ci
COPY migrations migrations
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
# git serves clones and pushes, with gpg and ssh-keygen it checks signatures; ca-certificates let webhooks and git speak TLS.
# tini is the first process: the kernel does not let that one be killed from within its container.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates git gpg openssh-client tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o node -g node -m 700 /data
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE ./
COPY bin bin
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
# Names that do not resolve hold threads, for no longer than this.
ENV UV_THREADPOOL_SIZE=16 RES_OPTIONS="timeout:2 attempts:2"
USER node
VOLUME /data
EXPOSE 8080 2222
ENTRYPOINT ["tini", "--", "node", "bin/ledgerforge.js"]
CMD ["start"]
