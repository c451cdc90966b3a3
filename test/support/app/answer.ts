type Refused = Readonly<{ status: number; body: Readonly<Record<string, unknown>> }>;

/** Status and code of an answer that refuses. */
export const codeOf = ({ status, body }: Refused) => [status, body["code"]];
