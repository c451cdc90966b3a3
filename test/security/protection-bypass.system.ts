import { givenProtection, protectedChanges } from "../support/access/protection.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("ssh", "ssh-keygen");
protectedChanges(await givenProtection(), "whole");
