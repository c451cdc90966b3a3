import { use } from "chai";
import chaiAsPromised from "chai-as-promised";

use(chaiAsPromised);
