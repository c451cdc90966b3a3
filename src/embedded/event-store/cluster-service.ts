import { randomUUID } from "node:crypto";
import gossipPb from "@eventstore/db-client/generated/gossip_pb.js";
import featuresPb from "@eventstore/db-client/generated/serverfeatures_pb.js";
import type { Empty } from "@eventstore/db-client/generated/shared_pb.js";
import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import type { handleUnaryCall } from "@grpc/grpc-js";

import { pageMethod } from "../../platform/event-store/page-method.ts";
import { uuidOf } from "./codec.ts";
import { ticksPerMs } from "./event.ts";

/** What clients may expect of the server: the newest protocol whose semantics are kept here. */
const protocolVersion = "24.10.5";

/** Lists the calls that exist; clients append in batches because the list contains that call. */
export const getSupportedMethods: handleUnaryCall<Empty, featuresPb.SupportedMethods> = (
  _call,
  answer,
) => {
  const methods = [...Object.values(streamsGrpc.StreamsService), pageMethod].map(({ path }) => {
    const [, service = "", method = ""] = path.split("/");
    return new featuresPb.SupportedMethod()
      .setServiceName(service.toLowerCase())
      .setMethodName(method.toLowerCase());
  });
  const response = new featuresPb.SupportedMethods();
  answer(null, response.setMethodsList(methods).setEventStoreServerVersion(protocolVersion));
};

/** A cluster of one node, for connection strings that query the cluster for its leader. */
export function gossipHandler(
  address: () => { host: string; port: number },
): handleUnaryCall<Empty, gossipPb.ClusterInfo> {
  const instanceId = randomUUID();
  return (_call, answer) => {
    const { host, port } = address();
    const member = new gossipPb.MemberInfo()
      .setInstanceId(uuidOf(instanceId, false))
      .setTimeStamp((BigInt(Date.now()) * ticksPerMs).toString())
      .setState(gossipPb.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossipPb.EndPoint().setAddress(host).setPort(port));
    answer(null, new gossipPb.ClusterInfo().setMembersList([member]));
  };
}
