/** `tool-1.0-py_0.tar.bz2` for linux-64: an archive of tar that bzip2 packed, as conda-build writes it. */
export const condaTarBz2 = Buffer.from(
  [
    "QlpoOTFBWSZTWTxtdfYAAP1fgM+UeAf3kwAiJUr/d9/qDAgwAPjaxFDIm0CNMJgTQZMBM0AmjTDJEyamTTTIANAA",
    "NNAAACU0pT9BTepNH6oMxQABobJGQHqepjebL+INxAjCLgMnehmGY5K51tCwdRAsnVsgpCoGYQBlvm5ywEJJwf0V",
    "tBlpr47pXO+eEk2lGCDy/upvXM+FS+/ruRwNkClgbw1zVhpgAxdenFgBGSMNCDdIsX9ghbPOw6GIWK1I6iIqC0at",
    "UJO/mUR4FNAYtpBgFz0IBn91P/x6KBwqA5Kw2lL9ryQ2IJYhhBiMfHFvv96fdBONplMpirPF4vJ0QpQqqWGALtmR",
    "91ICEzRlLZiZgqUQgTPkKMQ3nhy0xrtIbZ2YD/F3JFOFCQPG119g",
  ].join(""),
  "base64",
);
